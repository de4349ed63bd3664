import type { Resource, ResourceType } from '@medplum/fhirtypes';
import { mapConcurrently } from '../../bots/lib/concurrency.ts';
import { mayBecome } from '../../core/booking/appointment/status.ts';
import { type BookingConfig, EXTERNAL_TAG } from '../../core/config/config.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { rowCodes } from '../../core/rows/row.ts';
import { chunks } from '../../core/rows/search.ts';

/** Reads stored data for the check, with credentials that see everything. */
export interface Source {
  /** All results of a search, over all its pages. */
  search(type: ResourceType, query: Readonly<Record<string, string>>): Promise<Resource[]>;
  /** The versions of an appointment, the newest first, even after its deletion; none if it never existed. */
  versions(id: string): Promise<Resource[]>;
}

type Found = Map<string, Resource>;

/** Number of ids in one search, and of histories read concurrently. */
const [CHUNK, CONCURRENCY] = [50, 4];

function keep(found: Found, resources: readonly Resource[]): void {
  for (const resource of resources) {
    found.set(`${resource.resourceType}/${resource.id}`, resource);
  }
}

function ofType<T extends ResourceType>(found: Found, type: T) {
  return [...found.values()].flatMap((resource) => (isResource(resource, type) ? [resource] : []));
}

async function readAll({ search }: Source, config: BookingConfig, found: Found): Promise<void> {
  const external = { _tag: `${config.metaTagSystem}|${EXTERNAL_TAG}` };
  keep(found, await search('Slot', {}));
  keep(found, await search('Appointment', {}));
  keep(found, await search('Patient', external));
  keep(found, await search('QuestionnaireResponse', external));
  keep(found, await search('Task', { code: rowCodes(['book'], config) }));
}

/** Reads the slots of some schedules, their appointments, and the slots of these appointments in other schedules. */
async function readSchedules({ search }: Source, schedules: readonly string[], found: Found): Promise<void> {
  keep(found, await search('Slot', { schedule: schedules.join(',') }));
  const references = ofType(found, 'Slot').map(({ id }) => `Slot/${id}`);
  for (const chunk of chunks(references, CHUNK)) {
    keep(found, await search('Appointment', { slot: chunk.join(',') }));
  }
}

const referred = ['Slot', 'Schedule', 'Appointment', 'Patient', 'RelatedPerson', 'QuestionnaireResponse'] as const;

function referencesIn(resources: Iterable<Resource>): Set<string> {
  const references = [...resources].flatMap((resource) =>
    [...JSON.stringify(resource).matchAll(/"reference":"([A-Za-z]+\/[A-Za-z0-9.-]+)"/g)].map(
      ([, reference]) => reference,
    ),
  );
  return new Set(references.flatMap((reference) => reference ?? []));
}

/**
 * A reference to a deleted appointment is no finding if the appointment was over: staff may delete it. It counts as a
 * cancelled appointment without references.
 */
async function readDeleted({ versions }: Source, found: Found): Promise<void> {
  const gone = [...referencesIn([...ofType(found, 'Appointment'), ...ofType(found, 'Task')])].filter(
    (reference) => reference.startsWith('Appointment/') && !found.has(reference),
  );
  await mapConcurrently(gone, CONCURRENCY, async (reference) => {
    const id = reference.slice('Appointment/'.length);
    const last = (await versions(id)).find((resource) => isResource(resource, 'Appointment'));
    const isOver = isResource(last, 'Appointment') && !mayBecome(last, 'cancelled', 'staff');
    keep(found, isOver ? [{ resourceType: 'Appointment', id, status: 'cancelled', participant: [] }] : []);
  });
}

async function readReferred({ search }: Source, found: Found): Promise<void> {
  const bookings = [...ofType(found, 'Appointment'), ...ofType(found, 'Slot'), ...ofType(found, 'Task')];
  const missing = [...referencesIn(bookings)].filter((reference) => !found.has(reference));
  for (const type of referred) {
    const ids = missing.flatMap((reference) =>
      reference.startsWith(`${type}/`) ? reference.slice(type.length + 1) : [],
    );
    for (const chunk of chunks(ids, CHUNK)) {
      keep(found, await search(type, { _id: chunk.join(',') }));
    }
  }
}

/**
 * Reads the data of a check.
 *
 * @param schedules - references to the schedules to check; without any, the whole project
 */
export async function readStored(
  source: Source,
  config: BookingConfig,
  schedules: readonly string[] = [],
): Promise<ReadonlyMap<string, Resource>> {
  const found: Found = new Map();
  await (schedules.length > 0 ? readSchedules(source, schedules, found) : readAll(source, config, found));
  await readReferred(source, found);
  await readDeleted(source, found);
  return found;
}
