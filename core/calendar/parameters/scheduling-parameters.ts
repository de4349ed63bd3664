import type { HealthcareService, Resource, Schedule } from '@medplum/fhirtypes';
import { SCHEDULING_PARAMETERS } from '../../fhir/scheduling/scheduling-parameters.ts';
import type { Interval } from '../../time/interval.ts';
import { type Checked, combine, faulty, sound } from '../problem.ts';
import { type Closure, periodInterval, scheduleClosures, serviceClosures } from '../time/not-available.ts';
import { alwaysOpen, scheduleHours, serviceHours, type WeeklyHours } from '../time/weekly-hours.ts';
import {
  type Alignment,
  actorTimeZone,
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

/** Medplum's scheduling parameters of one service in one Schedule. */
export interface SchedulingParameters {
  /** Minutes. */
  readonly duration: number;
  /** Minutes before an appointment that must be free, too. */
  readonly bufferBefore: number;
  readonly bufferAfter: number;
  readonly alignment: Alignment;
  readonly timeZone: string;
  readonly hours: readonly WeeklyHours[];
  /** Closed times, which override the opening hours. */
  readonly closed: readonly Interval[];
  readonly capacity: number;
}

/** The hours in the Schedule's parameters, else those of the service. With neither it is always open. */
function weeklyHours({ availableTime }: HealthcareService, [ofSchedule]: readonly [Layer, Layer], path: string) {
  const availabilities = parametersIn(ofSchedule, 'availability');
  if (availabilities.length > 0) {
    return combine(availabilities.map(({ extension, path }) => scheduleHours(extension, path)));
  }
  return availableTime ? serviceHours(availableTime, `${path}.availableTime`) : sound(alwaysOpen);
}

function closedTimes(closures: readonly Closure[], zone: string, path: string): Checked<readonly Interval[]> {
  const problems = countProblems(closures.length, MAX_CLOSURES, 'closures', path);
  if (problems.length > 0) {
    return { value: undefined, problems };
  }
  return combine(
    closures.map(({ period, path }) => {
      const { value, problems } = periodInterval(period, zone, path);
      return { value: value && [value], problems };
    }),
  );
}

function requiredDuration(duration: Checked<number | undefined>, path: string): Checked<number | undefined> {
  return duration.value === undefined && duration.problems.length === 0
    ? faulty('duration-missing', `Give ${path} scheduling parameters with a duration.`, `${path}.extension`)
    : duration;
}

/** The parameters of a service in the Schedule and in the service itself. Repeated or misplaced ones are a problem. */
function layersOf(schedule: Schedule, service: HealthcareService): Checked<readonly [Layer, Layer]> {
  const named = (schedule.extension ?? []).filter(
    ({ url, extension = [] }) =>
      url === SCHEDULING_PARAMETERS &&
      extension.some(
        (inner) => inner.url === 'service' && inner.valueReference?.reference === `HealthcareService/${service.id}`,
      ),
  );
  const ofService = (service.extension ?? []).filter(({ url }) => url === SCHEDULING_PARAMETERS);
  const misplaced = (ofService[0]?.extension ?? []).find(({ url }) => url === 'service' || url === 'availability');
  const path = `HealthcareService/${service.id}.extension('${SCHEDULING_PARAMETERS}')`;
  if (named.length > 1 || ofService.length > 1) {
    const at = named.length > 1 ? `Schedule.extension('${SCHEDULING_PARAMETERS}')` : path;
    return faulty('parameters-contradictory', 'Give the scheduling parameters of a service only once.', at);
  }
  if (misplaced) {
    const what = `A HealthcareService cannot have the parameter ${misplaced.url}; enter its hours in availableTime.`;
    return faulty('parameters-contradictory', what, `${path}.extension('${misplaced.url}')`);
  }
  const index = named[0] ? schedule.extension?.indexOf(named[0]) : undefined;
  return sound([
    { extension: named[0], path: `Schedule.extension[${index}]` },
    { extension: ofService[0], path },
  ]);
}

/** The lengths of one service in one Schedule, in minutes, and its capacity. */
export interface Lengths {
  readonly before: number;
  readonly after: number;
  readonly duration: number | undefined;
  readonly alignmentInterval: number | undefined;
  readonly capacity: number;
}

function lengthsIn(layers: readonly Layer[]): Lengths {
  const read = (name: Parameters<typeof lengthParameter>[1]): number | undefined =>
    lengthParameter(layers, name).value || undefined;
  return {
    before: read('bufferBefore') ?? 0,
    after: read('bufferAfter') ?? 0,
    duration: read('duration'),
    alignmentInterval: read('alignmentInterval'),
    capacity: capacityParameter(layers).value ?? 1,
  };
}

/** The lengths of one service in one Schedule. Parameters that cannot be read count as absent. */
export function lengthsOf(schedule: Schedule, service: HealthcareService): Lengths {
  return lengthsIn(layersOf(schedule, service).value ?? []);
}

/** The lengths in the Schedule's own scheduling parameters, of any service. */
export function ownLengths({ extension = [] }: Schedule): Lengths[] {
  return extension
    .filter(({ url }) => url === SCHEDULING_PARAMETERS)
    .map((one) => lengthsIn([{ extension: one, path: 'Schedule' }]));
}

/**
 * The scheduling parameters of one service in one Schedule, as Medplum resolves them: each field from the Schedule,
 * else from the service, else the default. Unlike Medplum, it also applies `notAvailableTime` and
 * `HealthcareService.notAvailable`, and reports invalid values as problems.
 * @param actor - its time zone applies if the parameters name none
 * @param clinicZone - applies if the actor has no time zone
 * @see https://www.medplum.com/docs/scheduling/defining-availability
 */
export function schedulingParameters(
  schedule: Schedule,
  service: HealthcareService,
  actor: Resource,
  clinicZone: string,
): Checked<SchedulingParameters> {
  const { value: layers, problems } = layersOf(schedule, service);
  if (!layers) {
    return { value: undefined, problems };
  }
  const path = `HealthcareService/${service.id}`;
  const zone = timeZoneParameter(layers, 'timezone');
  const read = {
    duration: requiredDuration(lengthParameter(layers, 'duration'), path),
    bufferBefore: lengthParameter(layers, 'bufferBefore'),
    bufferAfter: lengthParameter(layers, 'bufferAfter'),
    alignment: alignmentParameter(layers),
    timeZone: zone.value === undefined && zone.problems.length === 0 ? actorTimeZone(actor) : zone,
    hours: weeklyHours(service, layers, path),
    capacity: capacityParameter(layers),
  };
  const closures = [
    ...parametersIn(layers[0], 'availability').flatMap((found) => scheduleClosures(found.extension, found.path)),
    ...serviceClosures(service, path),
  ];
  const closed = closedTimes(closures, read.timeZone.value ?? clinicZone, path);
  const lanes = read.capacity.value ?? 1;
  const found = [
    ...[...Object.values(read), closed].flatMap((one) => one.problems),
    ...(read.alignment.value ? slotCountProblems(read.alignment.value, lanes, `${path}.extension`) : []),
  ];
  const [duration, open] = [read.duration.value, read.hours.value];
  if (found.length > 0 || duration === undefined || !open || !read.alignment.value) {
    return { value: undefined, problems: found };
  }
  return sound({
    duration,
    bufferBefore: read.bufferBefore.value ?? 0,
    bufferAfter: read.bufferAfter.value ?? 0,
    alignment: read.alignment.value,
    timeZone: read.timeZone.value ?? clinicZone,
    hours: open,
    closed: closed.value ?? [],
    capacity: lanes,
  });
}
