import type { HealthcareService, Resource, Schedule } from '@medplum/fhirtypes';
import {
  offersAllServices,
  type Publishing,
  publishingOf,
} from '../../../core/calendar/parameters/schedule-calendar.ts';
import { closedDays, isClosedDays } from '../../../core/calendar/publish/closed-days.ts';
import type { ArtefactConfig } from '../../../core/config/config.ts';
import { serviceIdsOf } from '../../../core/fhir/reference/service-reference.ts';
import { isObject, isResource } from '../../../core/fhir/resource.ts';

/** What opening hours are made of. */
export interface HoursData {
  readonly schedules: readonly (Schedule & { readonly id: string })[];
  /** Those that take appointments. */
  readonly services: readonly HealthcareService[];
  /** The list of closed days, if there is one. */
  readonly closed: HealthcareService | undefined;
  /** By reference. */
  readonly actors: ReadonlyMap<string, Resource>;
}

const hasId = <T extends Resource>(resource: T): resource is T & { readonly id: string } => resource.id !== undefined;

/** Whether a Schedule can be read by the rules: broken ones have no hours. */
const isReadable = ({ actor }: Schedule): boolean => Array.isArray(actor);

const actorTypes: readonly unknown[] = ['Practitioner', 'PractitionerRole', 'Location', 'Device', 'HealthcareService'];

/** Whether a value is of a type that can be the actor of a Schedule. */
const isActor = (value: unknown): value is Resource => isObject(value) && actorTypes.includes(value.resourceType);

/** Sorts what was read. */
export function hoursData(
  resources: readonly unknown[],
  actors: readonly unknown[],
  config: ArtefactConfig,
): HoursData {
  const services = resources.filter((one) => isResource(one, 'HealthcareService'));
  const known = [...actors, ...services].filter(isActor);
  return {
    schedules: resources
      .filter((one) => isResource(one, 'Schedule'))
      .filter(hasId)
      .filter(isReadable),
    services: services.filter((one) => !isClosedDays(one, config)),
    closed: services.find((one) => isClosedDays(one, config)),
    actors: new Map(known.map((one) => [`${one.resourceType}/${one.id}`, one])),
  };
}

/** What hours are changed in: a service, the list of closed days, or one calendar. */
export type HoursHolder = HealthcareService | Schedule;

/** The data as they would be with another version of a service, of the closed days, or of a calendar. */
export function withChange(data: HoursData, changed: HoursHolder, config: ArtefactConfig): HoursData {
  if (changed.resourceType === 'Schedule') {
    const { schedules } = data;
    return { ...data, schedules: schedules.map((one) => (one.id === changed.id ? { ...changed, id: one.id } : one)) };
  }
  return isClosedDays(changed, config)
    ? { ...data, closed: changed }
    : { ...data, services: data.services.map((one) => (one.id === changed.id ? changed : one)) };
}

/** The Schedules that offer a service. */
export function schedulesOf({ id = '' }: HealthcareService, { schedules }: HoursData): HoursData['schedules'] {
  return schedules.filter((schedule) => offersAllServices(schedule) || serviceIdsOf(schedule).includes(id));
}

/** The Schedules that a change concerns, as they are after it. */
export function concernedBy(changed: HoursHolder, after: HoursData, config: ArtefactConfig): HoursData['schedules'] {
  if (changed.resourceType === 'Schedule') {
    return after.schedules.filter(({ id }) => id === changed.id);
  }
  return isClosedDays(changed, config) ? after.schedules : schedulesOf(changed, after);
}

/** The services that a Schedule offers. */
export function servicesIn(schedule: Schedule, { services }: HoursData): readonly HealthcareService[] {
  const ids = serviceIdsOf(schedule);
  return services.filter(({ id = '' }) => offersAllServices(schedule) || ids.includes(id));
}

/** What is published for a Schedule, or why nothing is. */
export function publishingIn(schedule: Schedule, data: HoursData, config: ArtefactConfig): Publishing {
  const actor = data.actors.get(schedule.actor[0]?.reference ?? '');
  return publishingOf({ schedule, services: servicesIn(schedule, data), actor }, config);
}

/** The days on which the whole clinic is closed. */
export const closuresIn = ({ closed }: HoursData, config: ArtefactConfig) => closedDays(closed ? [closed] : [], config);
