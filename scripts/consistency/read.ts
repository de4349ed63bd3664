import type { Resource, ResourceType, Slot } from '@medplum/fhirtypes';
import { BOOK_TASK } from '../../core/booking/async/task.ts';
import { type ConsistencyContext, isByService } from '../../core/booking/consistency/finding.ts';
import { artefactUri, type BookingConfig, EXTERNAL_TAG } from '../../core/config/config.ts';
import { parseInstant } from '../../core/fhir/instant.ts';
import { isResource } from '../../core/fhir/resource.ts';
import type { Interval } from '../../core/time/interval.ts';

/** How the check reads what is stored, with credentials that see everything. */
export interface Source {
  /** All results of a search, over all its pages. */
  search(type: ResourceType, query: Readonly<Record<string, string>>): Promise<Resource[]>;
  /** All versions of a slot, the newest first. */
  versions(slotId: string): Promise<Resource[]>;
}

/** What was read for a check. */
export interface Stored {
  readonly state: ReadonlyMap<string, Resource>;
  readonly stretches: ReadonlyMap<string, Interval>;
}

type Found = Map<string, Resource>;

/** How many ids go into the address of one search. */
const CHUNK = 50;

function chunks<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  );
}

function keep(found: Found, resources: readonly Resource[]): void {
  for (const resource of resources) {
    found.set(`${resource.resourceType}/${resource.id}`, resource);
  }
}

function ofType<T extends ResourceType>(found: Found, type: T) {
  return [...found.values()].flatMap((resource) => (isResource(resource, type) ? [resource] : []));
}

/** Everything that the bookings of a whole project consist of. */
async function readAll({ search }: Source, config: BookingConfig, found: Found): Promise<void> {
  const external = { _tag: `${config.metaTagSystem}|${EXTERNAL_TAG}` };
  keep(found, await search('Slot', {}));
  keep(found, await search('Appointment', {}));
  keep(found, await search('Patient', external));
  keep(found, await search('QuestionnaireResponse', external));
  keep(found, await search('Task', { code: `${artefactUri(config, 'LocalTask')}|${BOOK_TASK}` }));
}

/** The slots of some schedules, the appointments on them, and the slots that those have elsewhere. */
async function readSchedules({ search }: Source, schedules: readonly string[], found: Found): Promise<void> {
  keep(found, await search('Slot', { schedule: schedules.join(',') }));
  const references = ofType(found, 'Slot').map(({ id }) => `Slot/${id}`);
  for (const chunk of chunks(references, CHUNK)) {
    keep(found, await search('Appointment', { slot: chunk.join(',') }));
  }
}

/** Types of what bookings refer to. */
const referred = ['Slot', 'Schedule', 'Appointment', 'Patient', 'RelatedPerson', 'QuestionnaireResponse'] as const;

function referencesIn(resources: Iterable<Resource>): Set<string> {
  const references = [...resources].flatMap((resource) =>
    [...JSON.stringify(resource).matchAll(/"reference":"([A-Za-z]+\/[A-Za-z0-9.-]+)"/g)].map(
      ([, reference]) => reference,
    ),
  );
  return new Set(references.flatMap((reference) => reference ?? []));
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

/** The time of a slot as the clinic last set it, before the service split it. */
function stretchOf(versions: readonly Resource[], bots: ConsistencyContext['bots']): Interval | undefined {
  const slots = versions.flatMap((version): Slot[] => (isResource(version, 'Slot') ? [version] : []));
  const original = slots.find((slot) => isByService(slot, { ...(bots && { bots }) }) === false) ?? slots.at(-1);
  const start = parseInstant(original?.start);
  const end = parseInstant(original?.end);
  return start === undefined || end === undefined ? undefined : { start, end };
}

/** How many histories are read at once. */
const AT_ONCE = 8;

async function readStretches(
  source: Source,
  found: Found,
  originSystem: string,
  bots: ConsistencyContext['bots'],
): Promise<Map<string, Interval>> {
  const origins = new Set(
    ofType(found, 'Slot').flatMap(({ identifier = [] }) =>
      identifier.flatMap(({ system, value }) => (system === originSystem && value ? [value] : [])),
    ),
  );
  const stretches = new Map<string, Interval>();
  for (const chunk of chunks([...origins], AT_ONCE)) {
    await Promise.all(
      chunk.map(async (id) => {
        const stretch = stretchOf(await source.versions(id), bots);
        if (stretch) {
          stretches.set(id, stretch);
        }
      }),
    );
  }
  return stretches;
}

/** Those of the given slots that were once free. */
export async function readOfferedBefore(source: Source, ids: readonly string[]): Promise<Set<string>> {
  const offered = new Set<string>();
  for (const chunk of chunks(ids, AT_ONCE)) {
    await Promise.all(
      chunk.map(async (id) => {
        const versions = await source.versions(id);
        if (versions.some((version) => isResource(version, 'Slot') && version.status === 'free')) {
          offered.add(id);
        }
      }),
    );
  }
  return offered;
}

/**
 * Reads what the check looks at.
 *
 * @param schedules - references to the schedules to check; without any, the whole project
 * @param bots - references to the Bots of the service, if they are known
 */
export async function readStored(
  source: Source,
  config: BookingConfig,
  schedules: readonly string[] = [],
  bots?: ReadonlySet<string>,
): Promise<Stored> {
  const found: Found = new Map();
  await (schedules.length > 0 ? readSchedules(source, schedules, found) : readAll(source, config, found));
  await readReferred(source, found);
  const stretches = await readStretches(source, found, artefactUri(config, 'LocalSlotOrigin'), bots);
  return { state: found, stretches };
}
