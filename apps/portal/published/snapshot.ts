import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { HealthcareService, Location, Resource, Schedule, Slot } from '@medplum/fhirtypes';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { serviceIdOf } from '../../../core/fhir/reference.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { listOf } from '../../../packages/web/elements.ts';
import { type BookingService, isRefusal, nextPage, type Refusal, resourcesIn } from '../fhir/client.ts';

const GUIDE = 'http://hl7.org/fhir/uv/smart-scheduling-links/StructureDefinition';

/** The published resource types; referenced types come first. */
export const publishedTypes = ['Location', 'HealthcareService', 'Schedule', 'Slot'] as const;

type PublishedType = (typeof publishedTypes)[number];

/** A file that is compressed once for all requests. */
export interface PublishedFile {
  readonly text: string;
  readonly etag: string;
  readonly compressed: Buffer;
}

/** The bookable slots at one instant, with a file for each type. */
export interface Snapshot {
  /** Milliseconds since 1970 UTC. */
  readonly at: number;
  /** NDJSON. */
  readonly files: ReadonlyMap<PublishedType, PublishedFile>;
  /** Start of the last published Slot, in milliseconds since 1970 UTC, if there are more. */
  readonly until: number | undefined;
  /** States (regions) of the Locations. */
  readonly states: readonly string[];
}

/** Period of the published Slots, in milliseconds, and their maximum. */
const AHEAD = 90 * DAY;
const MAX_SLOTS = 20_000;
const PAGE = 1_000;
const MAX = '500';

/** Allow-list: no other element of a resource is published. */
function picked<T extends Resource>(resource: T, names: readonly (keyof T)[]): object {
  const kept = names.filter((name) => resource[name] !== undefined).map((name) => [name, resource[name]]);
  return { resourceType: resource.resourceType, id: resource.id, ...Object.fromEntries(kept) };
}

const referencesTo = (type: string, ids: readonly (string | undefined)[]) =>
  [...new Set(ids.filter((id) => id))].map((id) => ({ reference: `${type}/${id}` }));

const idOf = (reference: string | undefined, type: string): string | undefined =>
  reference?.startsWith(`${type}/`) ? reference.slice(type.length + 1) : undefined;

/** A Schedule with its Locations and HealthcareServices as actors. People are reduced to their names. */
function published(
  schedule: Schedule,
  services: ReadonlyMap<string, HealthcareService>,
  locations: ReadonlyMap<string, Location>,
): object {
  const actors = listOf(schedule.actor);
  const named = [
    ...listOf(schedule.serviceType).map(serviceIdOf),
    ...actors.map(({ reference }) => idOf(reference, 'HealthcareService')),
  ].filter((id) => id !== undefined && services.has(id));
  const places = [
    ...actors.map(({ reference }) => idOf(reference, 'Location')),
    ...named.flatMap((id) =>
      listOf(services.get(id ?? '')?.location).map(({ reference }) => idOf(reference, 'Location')),
    ),
  ].filter((id) => id !== undefined && locations.has(id));
  const names = actors.flatMap(({ display }) => (display ? [{ display }] : []));
  const serviceType = listOf(schedule.serviceType).map(({ coding, text }) => ({ coding, text }));
  return {
    resourceType: 'Schedule',
    id: schedule.id,
    ...(serviceType.length > 0 && { serviceType }),
    ...(schedule.specialty && { specialty: schedule.specialty }),
    actor: [...referencesTo('Location', places), ...referencesTo('HealthcareService', named), ...names],
  };
}

function offered({ id, schedule, start, end, serviceType }: Slot, linkOf: (id: string) => string): object {
  const types = listOf(serviceType).map(({ coding, text }) => ({ coding, text }));
  return {
    resourceType: 'Slot',
    id,
    meta: { profile: [`${GUIDE}/smart-scheduling-slot`] },
    extension: [{ url: `${GUIDE}/booking-deep-link`, valueUrl: linkOf(id ?? '') }],
    ...(types.length > 0 && { serviceType: types }),
    schedule: { reference: schedule.reference },
    status: 'free',
    start,
    end,
  };
}

const gzipped = promisify(gzip);

export const fileOf = async (text: string): Promise<PublishedFile> => ({
  text,
  etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`,
  compressed: await gzipped(text),
});

const linesOf = (resources: readonly object[]): string => resources.map((one) => `${JSON.stringify(one)}\n`).join('');

const byId = <T extends Resource>(resources: readonly T[]): ReadonlyMap<string, T> =>
  new Map(resources.map((one) => [one.id ?? '', one]));

async function readSlots(client: BookingService, at: number): Promise<{ slots: Slot[]; isMore: boolean } | Refusal> {
  const slots: Slot[] = [];
  let page = await client.search('Slot', {
    status: 'free',
    start: [`ge${formatInstant(at)}`, `lt${formatInstant(at + AHEAD)}`],
    _sort: 'start',
    _total: 'none',
    _count: String(PAGE),
  });
  for (;;) {
    if (isRefusal(page)) {
      return page;
    }
    slots.push(...resourcesIn(page, 'Slot'));
    const next = nextPage(page);
    if (next === undefined || slots.length >= MAX_SLOTS) {
      return { slots, isMore: next !== undefined };
    }
    page = await client.follow(next);
  }
}

/**
 * Reads Locations, HealthcareServices, Schedules and the free Slots of the next 90 days, at most about 20,000.
 *
 * @param linkOf - URL of the page that holds a Slot
 * @see https://build.fhir.org/ig/HL7/smart-scheduling-links/
 */
export async function readSnapshot(
  client: BookingService,
  at: number,
  linkOf: (slot: string) => string,
): Promise<Snapshot | Refusal> {
  const [schedules, services] = await Promise.all([
    client.search('Schedule', { _count: MAX }),
    client.search('HealthcareService', { _count: MAX, _include: 'HealthcareService:location' }),
  ]);
  if (isRefusal(schedules) || isRefusal(services)) {
    return isRefusal(schedules) ? schedules : (services as Refusal);
  }
  const found = await readSlots(client, at);
  if (isRefusal(found)) {
    return found;
  }
  const offers = resourcesIn(services, 'HealthcareService').filter(({ active }) => active !== false);
  const [known, places] = [byId(offers), byId(resourcesIn(services, 'Location'))];
  const calendars = resourcesIn(schedules, 'Schedule');
  const isOpen = new Set(calendars.map(({ id }) => `Schedule/${id}`));
  const slots = found.slots.filter(({ schedule }) => isOpen.has(schedule?.reference ?? ''));
  const last = found.isMore ? Date.parse(found.slots.at(-1)?.start ?? '') : Number.NaN;
  const resources: Readonly<Record<PublishedType, readonly object[]>> = {
    Location: [...places.values()].map((one) => picked(one, ['name', 'description', 'telecom', 'address', 'position'])),
    HealthcareService: offers.map((service) =>
      picked(service, ['name', 'comment', 'type', 'category', 'specialty', 'telecom', 'location']),
    ),
    Schedule: calendars.map((schedule) => published(schedule, known, places)),
    Slot: slots.map((slot) => offered(slot, linkOf)),
  };
  const files = publishedTypes.map(async (type) => [type, await fileOf(linesOf(resources[type]))] as const);
  return {
    at,
    files: new Map(await Promise.all(files)),
    until: Number.isNaN(last) ? undefined : last,
    states: [...new Set([...places.values()].flatMap(({ address }) => address?.state ?? []))].slice(0, 50),
  };
}
