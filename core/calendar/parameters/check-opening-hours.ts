import type { Extension, HealthcareService, Schedule } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isClosedDays } from '../../fhir/scheduling/closed-days.ts';
import { SCHEDULING_PARAMETERS } from '../../fhir/scheduling/scheduling-parameters.ts';
import { type CalendarProblem, faulty } from '../problem.ts';
import { closedTime } from '../publish/closed-days.ts';
import { type Closure, periodInterval, scheduleClosures, serviceClosures } from '../time/not-available.ts';
import { scheduleHours, serviceHours } from '../time/weekly-hours.ts';
import {
  alignmentParameter,
  capacityParameter,
  countProblems,
  type Layer,
  lengthParameter,
  MAX_CLOSURES,
  parametersIn,
  slotCountProblems,
  timeZoneParameter,
} from './parameter-values.ts';

type OpeningHoursHolder = Schedule | HealthcareService;

interface Parameters {
  readonly extension: Extension;
  readonly path: string;
}

function parametersOf({ resourceType, extension = [] }: OpeningHoursHolder): Parameters[] {
  return extension.flatMap((one, index) =>
    one.url === SCHEDULING_PARAMETERS ? [{ extension: one, path: `${resourceType}.extension[${index}]` }] : [],
  );
}

function valueProblems(layer: Layer): CalendarProblem[] {
  const read = [
    lengthParameter([layer], 'duration'),
    lengthParameter([layer], 'bufferBefore'),
    lengthParameter([layer], 'bufferAfter'),
    timeZoneParameter([layer], 'timezone'),
    alignmentParameter([layer]),
    capacityParameter([layer]),
  ];
  const [grid, lanes] = [alignmentParameter([layer]).value, capacityParameter([layer]).value];
  return [
    ...read.flatMap(({ problems }) => problems),
    ...(grid && lanes !== undefined ? slotCountProblems(grid, lanes, layer.path) : []),
  ];
}

const sameDays = ({ period: { start, end } }: Closure, { period }: Closure): boolean =>
  start === period.start && end === period.end;

/** Problems of closures that are not in `stored`. They do not depend on the time zone, so UTC is used. */
function closureProblems(
  closures: readonly Closure[],
  holder: string,
  timeOf: typeof closedTime = ({ period, path }, timeZone) => periodInterval(period, timeZone, path),
  stored: readonly Closure[] = [],
): readonly CalendarProblem[] {
  const problems = countProblems(closures.length, MAX_CLOSURES, 'closures', holder);
  const changed = closures.filter((closure) => !stored.some((one) => sameDays(one, closure)));
  return problems.length > 0 ? problems : changed.flatMap((closure) => timeOf(closure, 'UTC').problems);
}

function scheduleProblems({ planningHorizon }: Schedule, parameters: readonly Parameters[]): CalendarProblem[] {
  const availabilities = parameters.flatMap((layer) => parametersIn(layer, 'availability'));
  const services = parameters.map(
    ({ extension }) => extension.extension?.find(({ url }) => url === 'service')?.valueReference?.reference,
  );
  const twice = parameters.filter((_, index) => services.indexOf(services[index]) < index);
  const hasHorizon = planningHorizon?.start !== undefined || planningHorizon?.end !== undefined;
  return [
    ...availabilities.flatMap(({ extension, path }) => [
      ...scheduleHours(extension, path).problems,
      ...closureProblems(scheduleClosures(extension, path), path),
    ]),
    ...twice.flatMap(
      ({ path }) =>
        faulty('parameters-contradictory', 'Give the scheduling parameters of a service only once.', path).problems,
    ),
    ...(hasHorizon ? periodInterval(planningHorizon, 'UTC', 'Schedule.planningHorizon').problems : []),
  ];
}

/** Problems of a service's hours, closures (except those in `stored`) and scheduling parameters. */
function serviceProblems(
  service: HealthcareService,
  parameters: readonly Parameters[],
  config: PublicConfig,
  stored: HealthcareService | undefined,
): CalendarProblem[] {
  const closures = serviceClosures(service, 'HealthcareService');
  const before = stored && serviceClosures(stored, '');
  const timeOf = isClosedDays(service, config) ? closedTime : undefined;
  const [first, second] = parameters;
  const misplaced = ['service', 'availability'].flatMap((url) => (first ? parametersIn(first, url) : []));
  return [
    ...serviceHours(service.availableTime ?? [], 'HealthcareService.availableTime').problems,
    ...closureProblems(closures, 'HealthcareService.notAvailable', timeOf, before),
    ...misplaced.flatMap(
      ({ path, extension }) =>
        faulty(
          'parameters-contradictory',
          `A HealthcareService cannot have the parameter ${extension.url}; enter its hours in availableTime.`,
          path,
        ).problems,
    ),
    ...(second
      ? faulty('parameters-contradictory', 'Give scheduling parameters only once.', second.path).problems
      : []),
  ];
}

/**
 * The problems of a Schedule or a HealthcareService alone: the other resource may have a missing value. Closures in
 * `stored` are not checked again: a faulty one must not prevent other changes.
 */
export function checkOpeningHours(
  holder: OpeningHoursHolder,
  config: PublicConfig,
  stored?: HealthcareService,
): CalendarProblem[] {
  const parameters = parametersOf(holder);
  const own =
    holder.resourceType === 'Schedule'
      ? scheduleProblems(holder, parameters)
      : serviceProblems(holder, parameters, config, stored);
  return [...parameters.flatMap(valueProblems), ...own];
}

/** The problems of `checkOpeningHours` as coded errors, for the author of the write. */
export const openingHoursIssues = (
  holder: OpeningHoursHolder,
  config: PublicConfig,
  stored?: HealthcareService,
): Issue[] =>
  checkOpeningHours(holder, config, stored).map(({ diagnostics, expression }) => ({
    code: 'opening-hours-invalid',
    diagnostics,
    expression,
  }));
