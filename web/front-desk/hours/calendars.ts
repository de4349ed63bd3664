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

/** The data as they would be with another version of a service or of the closed days. */
export function withService(data: HoursData, changed: HealthcareService, config: ArtefactConfig): HoursData {
  return isClosedDays(changed, config)
    ? { ...data, closed: changed }
    : { ...data, services: data.services.map((one) => (one.id === changed.id ? changed : one)) };
}

/** The Schedules that offer a service. */
export function schedulesOf({ id = '' }: HealthcareService, { schedules }: HoursData): HoursData['schedules'] {
  return schedules.filter((schedule) => offersAllServices(schedule) || serviceIdsOf(schedule).includes(id));
}

/** What of a Schedule is published, or why nothing is. */
export function publishingIn(schedule: Schedule, { services, actors }: HoursData, config: ArtefactConfig): Publishing {
  const ids = serviceIdsOf(schedule);
  const offered = services.filter(({ id = '' }) => offersAllServices(schedule) || ids.includes(id));
  return publishingOf({ schedule, services: offered, actor: actors.get(schedule.actor[0]?.reference ?? '') }, config);
}

/** The days on which the whole clinic is closed. */
export const closuresIn = ({ closed }: HoursData, config: ArtefactConfig) => closedDays(closed ? [closed] : [], config);
