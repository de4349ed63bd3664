import type { HealthcareService, Resource, Schedule } from '@medplum/fhirtypes';
import type { PublicConfig } from '../artefacts.ts';
import { servesAll, serviceIdsOf } from '../reference.ts';
import { isResource } from '../resource.ts';
import { isClosedDays } from './closed-days.ts';

/** The possible types of a Schedule's actor. */
export const actorTypes = ['Device', 'HealthcareService', 'Location', 'Practitioner', 'PractitionerRole'] as const;

export interface HoursData {
  readonly schedules: readonly (Schedule & { readonly id: string })[];
  /** The services for appointments, without the lists of closed days. */
  readonly services: readonly HealthcareService[];
  /** The lists of closed days, usually one. */
  readonly closed: readonly HealthcareService[];
  readonly actors: ReadonlyMap<string, Resource>;
}

const hasId = <T extends Resource>(resource: T): resource is T & { readonly id: string } => resource.id !== undefined;

/** Sorts resources by their role. Schedules without an id or actors are left out. */
export function hoursData(resources: readonly unknown[], config: PublicConfig): HoursData {
  const all = resources
    .filter((one) => isResource(one, 'HealthcareService'))
    .map((service) => [service.id, service] as const);
  const services = [...new Map(all).values()];
  const known = actorTypes.flatMap((type) => resources.filter((one) => isResource(one, type)));
  return {
    schedules: resources
      .filter((one) => isResource(one, 'Schedule'))
      .filter(hasId)
      .filter(({ actor }) => Array.isArray(actor)),
    services: services.filter((service) => !isClosedDays(service, config)),
    closed: services.filter((service) => isClosedDays(service, config)),
    actors: new Map(known.map((one) => [`${one.resourceType}/${one.id}`, one])),
  };
}

const offers = (schedule: Schedule, { id = '' }: HealthcareService): boolean =>
  servesAll(schedule) || serviceIdsOf(schedule).includes(id);

export const servicesOf = (schedule: Schedule, { services }: Pick<HoursData, 'services'>): HealthcareService[] =>
  services.filter((service) => offers(schedule, service));

const schedulesOf = (service: HealthcareService, { schedules }: HoursData): HoursData['schedules'] =>
  schedules.filter((schedule) => offers(schedule, service));

/** A resource with hours: a service, a list of closed days, or a Schedule. */
export type HoursHolder = HealthcareService | Schedule;

/** The data with another version of a service, a list of closed days, or a Schedule. */
export function withChange<T extends HoursData>(data: T, changed: HoursHolder, config: PublicConfig): T {
  if (changed.resourceType === 'Schedule') {
    const schedules = data.schedules.map((one) => (one.id === changed.id ? { ...changed, id: one.id } : one));
    return { ...data, schedules };
  }
  const others = (services: readonly HealthcareService[]) =>
    services.map((service) => (service.id === changed.id ? changed : service));
  return isClosedDays(changed, config)
    ? { ...data, closed: data.closed.length > 0 ? others(data.closed) : [changed] }
    : { ...data, services: others(data.services) };
}

/** The Schedules that a change affects, in their state after it. */
export function concernedBy(changed: HoursHolder, after: HoursData, config: PublicConfig): HoursData['schedules'] {
  if (changed.resourceType === 'Schedule') {
    return after.schedules.filter(({ id }) => id === changed.id);
  }
  return isClosedDays(changed, config) ? after.schedules : schedulesOf(changed, after);
}
