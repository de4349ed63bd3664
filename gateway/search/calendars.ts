import type { Bundle, BundleEntry, HealthcareService, Resource, Schedule } from '@medplum/fhirtypes';
import { isResource } from '../../core/fhir/resource.ts';
import type { Upstream, UpstreamAnswer, UpstreamFailure } from '../medplum/client.ts';
import { fingerprint } from '../medplum/current-profile.ts';
import { isSuccess } from '../medplum/errors.ts';
import { createMemory } from '../medplum/memory.ts';
import { isBundle } from '../medplum/public-resources.ts';

/** Schedules and services, as far as policies depend on them. */
export interface CalendarList {
  readonly schedules: readonly Schedule[];
  readonly services: readonly HealthcareService[];
  /** Whether these lists are complete. */
  readonly isWhole: boolean;
}

/** The Schedules and services that a caller may read. */
export interface Calendars {
  /**
   * Reads them with the caller's rights.
   *
   * @param ids - of the Schedules, if only some are wanted
   * @param headers - of calls to Medplum for this caller
   * @returns them as they are now, or Medplum's answer if it does not return them
   */
  readonly read: (
    ids: string | undefined,
    headers: Readonly<Record<string, string>>,
  ) => Promise<CalendarList | UpstreamAnswer | UpstreamFailure>;
}

/** Medplum's limit for one page. */
export const MOST = 1000;

/** How many lists are remembered, and for how long at most, in milliseconds. */
const memory = { size: 50, maxAgeMs: 30_000 };

type Kind = 'Schedule' | 'HealthcareService';

/** What policies depend on, and nothing else, because a page of a thousand is read. */
const FIELDS = 'id,active,actor,serviceType,extension';

const url = (type: Kind, query: Record<string, string>): string => `${type}?${new URLSearchParams(query)}`;

const listUrl = (type: Kind, ids?: string): string =>
  url(type, { ...(ids !== undefined && { _id: ids }), _count: String(MOST), _fields: FIELDS });

/** How many there are, and which was changed last: as long as both stay the same, the list is unchanged. */
const markUrl = (type: Kind): string =>
  url(type, { _sort: '-_lastUpdated', _count: '1', _total: 'accurate', _fields: 'id,meta' });

/** The parts of a search result that are read. */
type Found = Pick<Bundle, 'entry' | 'link' | 'total'>;

const nothing: Found = {};

function resourcesIn(found: Found): Resource[] {
  const { entry = [] } = found;
  return entry.flatMap(({ resource }) => resource ?? []);
}

function markOf(found: Found = nothing): string {
  const [last] = resourcesIn(found);
  return JSON.stringify([found.total, last?.id, last?.meta?.versionId]);
}

/** Some resources, and whether there are no others. */
interface Page {
  readonly resources: readonly Resource[];
  readonly isWhole: boolean;
}

function pageOf(found: Found = nothing): Page {
  const isWhole = !found.link?.some(({ relation }) => relation === 'next');
  return { resources: resourcesIn(found), isWhole };
}

/** A list and the mark that it had before it was read. */
type Remembered = Page & { readonly mark: string };

function together(pages: readonly Page[]): CalendarList {
  const resources = pages.flatMap((page) => page.resources);
  return {
    schedules: resources.flatMap((one) => (isResource(one, 'Schedule') ? [one] : [])),
    services: resources.flatMap((one) => (isResource(one, 'HealthcareService') ? [one] : [])),
    isWhole: pages.every((page) => page.isWhole),
  };
}

/** What a search has found: nothing if the caller may not search. */
function foundBy({ resource, response }: BundleEntry): Found[] {
  if (isResource(resource, 'Bundle')) {
    return [resource];
  }
  return response?.status?.startsWith('403') ? [nothing] : [];
}

/** Carries out several searches in one call. */
async function searchAll(upstream: Upstream, urls: readonly string[], headers: Readonly<Record<string, string>>) {
  const entry = urls.map((one) => ({ request: { method: 'GET', url: one } }));
  const answer = await upstream.call({
    method: 'POST',
    path: 'fhir/R4',
    headers: { ...headers, 'content-type': 'application/fhir+json' },
    body: JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry }),
  });
  const batch = isSuccess(answer) && isBundle(answer.body) ? answer.body : undefined;
  const found = (batch?.entry ?? []).flatMap(foundBy);
  return found.length === urls.length ? found : answer;
}

/**
 * Remembers the lists of Schedules and services, on which each search for free Slots depends. Before a list is used
 * again, Medplum is asked whether anything in it has been changed, created or deleted since; only then is it read again.
 *
 * @param now - the clock, in milliseconds
 */
export function createCalendars(upstream: Upstream, now: () => number): Calendars {
  const remembered = createMemory<Remembered>(memory.size, memory.maxAgeMs, now);
  return {
    read: async (ids, headers) => {
      const kinds: readonly Kind[] = ids === undefined ? ['Schedule', 'HealthcareService'] : ['HealthcareService'];
      const named = ids === undefined ? [] : [listUrl('Schedule', ids)];
      const keyOf = (kind: Kind): string => `${fingerprint(headers.authorization ?? '')} ${kind}`;
      // The marks come first: what is changed while a list is read is noticed the next time.
      const marked = await searchAll(upstream, [...kinds.map(markUrl), ...named], headers);
      if (!Array.isArray(marked)) {
        return marked;
      }
      const lists = new Map<Kind, Remembered>();
      kinds.forEach((kind, index) => {
        const known = remembered.get(keyOf(kind));
        if (known?.mark === markOf(marked[index])) {
          lists.set(kind, known);
        }
      });
      const missing = kinds.filter((kind) => !lists.has(kind));
      const read =
        missing.length > 0
          ? await searchAll(
              upstream,
              missing.map((kind) => listUrl(kind)),
              headers,
            )
          : [];
      if (!Array.isArray(read)) {
        return read;
      }
      missing.forEach((kind, index) => {
        const list = { mark: markOf(marked[kinds.indexOf(kind)]), ...pageOf(read[index]) };
        remembered.set(keyOf(kind), list);
        lists.set(kind, list);
      });
      return together([...lists.values(), ...marked.slice(kinds.length).map(pageOf)]);
    },
  };
}
