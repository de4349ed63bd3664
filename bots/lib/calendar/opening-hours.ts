import { createHash } from 'node:crypto';
import type { MedplumClient } from '@medplum/core';
import type { Resource, Schedule, Slot, Task } from '@medplum/fhirtypes';
import { type OpeningHours, openingHoursOf } from '../../../core/calendar/opening-hours.ts';
import { publicationWithServices } from '../../../core/calendar/publish/publication.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { servesAll, serviceIdsOf } from '../../../core/fhir/reference.ts';
import { actorTypes, hoursData } from '../../../core/fhir/scheduling/hours-data.ts';
import { config } from '../config.ts';
import { ofType, readAhead, readInBatch, readInTransaction } from '../read.ts';

/** The opening hours of a Schedule with a hash that shows whether they are published. */
export interface KeyedHours extends OpeningHours {
  /** A hash of everything that determines the published Slots, except the current time and the stored Slots. */
  readonly inputs: string;
}

/** Increment this whenever the rules for making Slots from opening hours change: all Slots are published again. */
const RULES = 2;

const COUNT = '1000';

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

/** The searches for the services of Schedules: all services if a Schedule serves all. */
function servicesSearches(schedules: readonly Schedule[]): string[] {
  if (schedules.some(servesAll)) {
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

const closedDays = (): string =>
  `HealthcareService?${new URLSearchParams({ identifier: `${artefactUri(config, 'LocalClosedDays')}|`, _count: COUNT })}`;

/** The opening hours of all Schedules among resources that were read. */
function hoursIn(found: readonly Resource[]): KeyedHours[] {
  const data = hoursData(found, config);
  return data.schedules.map((schedule) => {
    const hours = openingHoursOf(schedule, data, config);
    const { services, actor } = hours;
    return { ...hours, inputs: inputsOf([schedule, ...services, ...(actor ? [actor] : []), ...data.closed]) };
  });
}

/**
 * Reads the opening hours of several Schedules.
 * @param schedules - at most a few hundred
 * @throws ReadError when the server could not be read
 */
export async function readOpeningHoursOf(
  medplum: MedplumClient,
  schedules: readonly Schedule[],
): Promise<KeyedHours[]> {
  const searches = [closedDays(), ...actorSearches(schedules), ...servicesSearches(schedules)];
  return hoursIn([...schedules, ...(await readInBatch(medplum, searches)).flat()]);
}

/** The opening hours of a deleted Schedule: nothing in it can be booked. */
export const goneHours = (id: string): KeyedHours => ({
  schedule: { resourceType: 'Schedule', id, actor: [] },
  services: [],
  actor: undefined,
  publishing: { kind: 'off', reason: 'gone' },
  closedDays: [],
  inputs: 'gone',
});

/**
 * The searches for the opening hours of one Schedule. Its services are found with its publication row or from the
 * `serviceType` of a Slot.
 * @param serviceType - of a Slot of the Schedule or an appointment in it: published Slots name their service
 */
export const hoursSearches = (id: string, serviceType: Slot['serviceType']): string[] => [
  `Schedule?${new URLSearchParams({ _id: id, _include: 'Schedule:actor', _count: COUNT })}`,
  closedDays(),
  publicationWithServices(id, config),
  ...serviceIdsOf({ serviceType }).map((service) => byIds('HealthcareService', [service])),
];

/**
 * Reads the opening hours of a Schedule.
 * @param serviceType - as in `hoursSearches`
 * @param along - searches that must not be read earlier than the opening hours
 * @returns the opening hours, `undefined` if there is no such Schedule; its publication row; and a client that has read
 *   the searches of `along`
 * @throws ReadError when the server could not be read
 */
export async function readOpeningHours(
  medplum: MedplumClient,
  id: string,
  serviceType?: Slot['serviceType'],
  along: readonly string[] = [],
): Promise<{ readonly hours: KeyedHours | undefined; readonly row: Task | undefined; readonly reader: MedplumClient }> {
  const found = (await readInTransaction(medplum, hoursSearches(id, serviceType))).flat();
  const schedules = ofType('Schedule', found);
  const known = new Set(ofType('HealthcareService', found).map((service) => service.id ?? ''));
  const isComplete = schedules.every(
    (schedule) => !servesAll(schedule) && serviceIdsOf(schedule).every((service) => known.has(service)),
  );
  const services = isComplete ? [] : servicesSearches(schedules);
  const reader = isComplete ? medplum : await readAhead(medplum, services, along);
  const more = await readInTransaction(reader, services);
  return { hours: hoursIn([...found, ...more.flat()])[0], row: ofType('Task', found)[0], reader };
}
