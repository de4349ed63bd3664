import { createHash } from 'node:crypto';
import type { MedplumClient } from '@medplum/core';
import type { HealthcareService, Resource, Schedule } from '@medplum/fhirtypes';
import {
  offersAllServices,
  type Publishing,
  publishingOf,
} from '../../../core/calendar/parameters/schedule-calendar.ts';
import { closedDays, isClosedDays } from '../../../core/calendar/publish/closed-days.ts';
import type { Closure } from '../../../core/calendar/time/not-available.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { serviceIdsOf } from '../../../core/fhir/reference/service-reference.ts';
import { config } from '../config.ts';
import { ofType, readInBatch } from '../read.ts';

/** A Schedule with everything that defines its opening hours. */
export interface OpeningHours {
  readonly schedule: Schedule & { readonly id: string };
  /** The services that it offers. */
  readonly services: readonly HealthcareService[];
  readonly publishing: Publishing;
  readonly closedDays: readonly Closure[];
  /** A hash that changes with everything that decides what is published for the Schedule, except time and its Slots. */
  readonly inputs: string;
}

/** Must be changed whenever the rules for making Slots from opening hours change: then all Slots are made again. */
const RULES = 2;

/** How many services are read at most. */
const COUNT = '1000';

/** The types of actors that a Schedule can have and that Bots may read. */
const actorTypes: readonly string[] = ['Device', 'HealthcareService', 'Location', 'Practitioner', 'PractitionerRole'];

const byIds = (type: string, ids: readonly string[]): string =>
  `${type}?${new URLSearchParams({ _id: [...new Set(ids)].join(','), _count: COUNT })}`;

function actorSearches(schedules: readonly Schedule[]): string[] {
  const references = schedules.flatMap(({ actor }) => actor[0]?.reference ?? []);
  const idsOf = (type: string): string[] =>
    references
      .filter((reference) => reference.startsWith(`${type}/`))
      .map((reference) => reference.slice(type.length + 1));
  return actorTypes.flatMap((type) => (idsOf(type).length > 0 ? [byIds(type, idsOf(type))] : []));
}

function servicesSearches(schedules: readonly Schedule[]): string[] {
  if (schedules.some(offersAllServices)) {
    return [`HealthcareService?_count=${COUNT}`];
  }
  const ids = schedules.flatMap(serviceIdsOf);
  return ids.length > 0 ? [byIds('HealthcareService', ids)] : [];
}

const version = ({ resourceType, id, meta }: Resource): string => `${resourceType}/${id} ${meta?.versionId}`;

function inputsOf(resources: readonly Resource[]): string {
  const values = [RULES, config.calendar.horizonWeeks, ...resources.map(version).sort()];
  return createHash('sha256').update(values.join('\n')).digest('base64url').slice(0, 22);
}

/**
 * Reads what defines the opening hours of several Schedules.
 *
 * @param schedules - at most a few hundred
 * @throws ReadError when the server could not be read
 */
export async function readOpeningHoursOf(
  medplum: MedplumClient,
  schedules: readonly Schedule[],
): Promise<OpeningHours[]> {
  const identifier = `${artefactUri(config, 'LocalClosedDays')}|`;
  const [closed, ...others] = await readInBatch(medplum, [
    `HealthcareService?${new URLSearchParams({ identifier, _count: COUNT })}`,
    ...actorSearches(schedules),
    ...servicesSearches(schedules),
  ]);
  const found = others.flat();
  const services = ofType('HealthcareService', found).filter((service) => !isClosedDays(service, config));
  const days = ofType('HealthcareService', closed);
  return schedules.flatMap((schedule): OpeningHours[] => {
    const reference = schedule.actor[0]?.reference;
    const actor = found.find(({ resourceType, id }) => `${resourceType}/${id}` === reference);
    const ids = serviceIdsOf(schedule);
    const own = services.filter((service) => offersAllServices(schedule) || ids.some((id) => id === service.id));
    const unique = [...new Map(own.map((service) => [service.id, service])).values()];
    return schedule.id === undefined
      ? []
      : [
          {
            schedule: { ...schedule, id: schedule.id },
            services: unique,
            publishing: publishingOf({ schedule, services: unique, actor }, config),
            closedDays: closedDays(days, config),
            inputs: inputsOf([schedule, ...unique, ...(actor ? [actor] : []), ...days]),
          },
        ];
  });
}

/**
 * Reads what defines the opening hours of a Schedule.
 *
 * @param id - of the Schedule
 * @returns `undefined` if there is no such Schedule
 * @throws ReadError when the server could not be read
 */
export async function readOpeningHours(medplum: MedplumClient, id: string): Promise<OpeningHours | undefined> {
  const [found] = await readInBatch(medplum, [byIds('Schedule', [id])]);
  const schedules = ofType('Schedule', found);
  const [hours] = schedules.length > 0 ? await readOpeningHoursOf(medplum, schedules) : [];
  return hours;
}
