import type { HealthcareService, Resource, Schedule } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { servesAll, serviceIdsOf } from '../../fhir/reference.ts';
import type { CalendarProblem } from '../problem.ts';
import { MAX_SLOTS_A_DAY, slotsADay } from './parameter-values.ts';
import { type SchedulingParameters, schedulingParameters } from './scheduling-parameters.ts';

/** A service of a Schedule, with its hours and lengths. */
export interface ServiceCalendar {
  readonly service: HealthcareService & { readonly id: string };
  readonly parameters: SchedulingParameters;
}

/** Whether opening hours are published as free Slots. */
export type Publishing =
  | { readonly kind: 'on'; readonly calendars: readonly ServiceCalendar[] }
  /** Published Slots are withdrawn; if the Schedule no longer exists, manually created ones, too. */
  | { readonly kind: 'off'; readonly reason: 'switched-off' | 'no-service' | 'gone' }
  /** The Schedule is closed for now, or its parameters are invalid: published Slots stay as they are. */
  | { readonly kind: 'kept'; readonly problems: readonly CalendarProblem[] };

interface ScheduleContext {
  readonly schedule: Schedule;
  /** The existing services of the Schedule; all services for a Schedule that serves all. */
  readonly services: readonly HealthcareService[];
  readonly actor: Resource | undefined;
}

function hasId<T extends { readonly id?: string }>(resource: T): resource is T & { readonly id: string } {
  return resource.id !== undefined;
}

function isSwitchedOff({ extension = [] }: Schedule, config: PublicConfig): boolean {
  const url = artefactUri(config, 'LocalPublishing');
  return extension.some((one) => one.url === url && one.valueBoolean === false);
}

function missingServices(ids: readonly string[], services: readonly HealthcareService[]): CalendarProblem[] {
  return ids
    .filter((id) => !services.some((service) => service.id === id))
    .map((id) => ({
      code: 'service-not-found',
      diagnostics: `HealthcareService/${id} does not exist. Remove it from the Schedule or name another one.`,
      expression: 'Schedule.serviceType',
    }));
}

function actorProblems({ schedule, actor }: ScheduleContext): CalendarProblem[] {
  return schedule.actor.length === 1 && actor
    ? []
    : [
        {
          code: 'actor-not-single',
          diagnostics: `Opening hours need a Schedule with one actor; this one has ${schedule.actor.length}${actor ? '' : ', and the first does not exist'}.`,
          expression: 'Schedule.actor',
        },
      ];
}

const slotCountProblem = (count: number): CalendarProblem => ({
  code: 'slots-too-many',
  diagnostics: `All services of the Schedule together make ${count} slots a day, and at most ${MAX_SLOTS_A_DAY.schedule} are possible. Name fewer services, or give them a longer alignment interval.`,
  expression: 'Schedule.serviceType',
});

/** Decides whether, and with which calendars, a Schedule is published. One invalid service keeps its Slots. */
export function publishingOf(context: ScheduleContext, config: PublicConfig): Publishing {
  const { schedule, services, actor } = context;
  if (isSwitchedOff(schedule, config)) {
    return { kind: 'off', reason: 'switched-off' };
  }
  const ids = serviceIdsOf(schedule);
  const isOffered = ({ id = '' }: HealthcareService): boolean => servesAll(schedule) || ids.includes(id);
  if (ids.length === 0 && !servesAll(schedule)) {
    return { kind: 'off', reason: 'no-service' };
  }
  if (schedule.active === false) {
    return { kind: 'kept', problems: [] };
  }
  const offered = services.filter((service) => isOffered(service) && service.active !== false).filter(hasId);
  const read = actor
    ? offered.map((service) => ({ service, found: schedulingParameters(schedule, service, actor, config.timeZone) }))
    : [];
  const total = read.reduce(
    (sum, { found: { value } }) => sum + (value ? slotsADay(value.alignment, value.capacity) : 0),
    0,
  );
  const problems = [
    ...(total > MAX_SLOTS_A_DAY.schedule ? [slotCountProblem(total)] : []),
    ...missingServices(ids, services),
    ...actorProblems(context),
    ...read.flatMap(({ found }) => found.problems),
  ];
  return problems.length > 0
    ? { kind: 'kept', problems }
    : {
        kind: 'on',
        calendars: read.flatMap(({ service, found }) => (found.value ? [{ service, parameters: found.value }] : [])),
      };
}
