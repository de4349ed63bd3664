import type { Bundle, BundleEntry, HealthcareService, Resource, Schedule, Task } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../core/config/config.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { recentRows } from '../../core/slots/reservation.ts';
import type { Upstream, UpstreamAnswer, UpstreamFailure } from '../medplum/client.ts';
import { fingerprint } from '../medplum/current-profile.ts';
import { isSuccess } from '../medplum/errors.ts';
import { createMemory } from '../medplum/memory.ts';
import { isBundle } from '../medplum/public-resources.ts';

/** Schedules and services, as far as policies depend on them. */
export interface CalendarList {
  readonly schedules: readonly Schedule[];
  readonly services: readonly HealthcareService[];
  /** The rows with time that is reserved in them at this moment; none where they are remembered. */
  readonly rows: readonly Task[];
  /** Whether these lists are complete. */
  readonly isWhole: boolean;
}

/** Schedules and services, and the search that was carried out in the same call. */
type CalendarsRead = CalendarList & { readonly searched?: Searched | undefined };

/** A search, and what it has found. */
interface Searched {
  readonly url: string;
  readonly bundle: Bundle;
}

/** The Schedules and services that a caller may read. */
export interface Calendars {
  /**
   * Reads them with the caller's rights.
   *
   * @param ids - of the Schedules, if only some are wanted
   * @param headers - of calls to Medplum for this caller
   * @param searchBy - tells a search by what is remembered: it is carried out in the same call, after what tells whether
   *   the memory was right
   * @returns them as they are now, or Medplum's answer if it does not return them
   */
  readonly read: (
    ids: string | undefined,
    headers: Readonly<Record<string, string>>,
    searchBy?: (remembered: CalendarList) => string,
  ) => Promise<CalendarsRead | UpstreamAnswer | UpstreamFailure>;
}

/** Medplum's limit for one page. */
export const MOST = 1000;

/** How many lists and single Schedules are remembered, and for how long at most, in milliseconds. */
const memory = { lists: 50, schedules: 2_000, maxAgeMs: 30_000 };

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

function together(pages: readonly (Page | undefined)[]): CalendarList {
  const resources = pages.flatMap((page) => page?.resources ?? []);
  return {
    schedules: resources.filter((one) => isResource(one, 'Schedule')),
    services: resources.filter((one) => isResource(one, 'HealthcareService')),
    rows: resources.filter((one) => isResource(one, 'Task')),
    isWhole: pages.every((page) => page?.isWhole),
  };
}

/** What a search has found: nothing if the caller may not search. */
function foundBy({ resource, response }: BundleEntry): Found[] {
  if (isResource(resource, 'Bundle')) {
    return [resource];
  }
  return response?.status?.startsWith('403') ? [nothing] : [];
}

/** Carries out several searches in one call, and one more that may fail. */
async function searchAll(
  upstream: Upstream,
  urls: readonly string[],
  headers: Readonly<Record<string, string>>,
  more?: string,
): Promise<
  { readonly found: readonly Found[]; readonly searched?: Searched | undefined } | UpstreamAnswer | UpstreamFailure
> {
  const all = more === undefined ? urls : [...urls, more];
  const entry = all.map((one) => ({ request: { method: 'GET', url: one } }));
  const answer = await upstream.call({
    method: 'POST',
    path: 'fhir/R4',
    headers: { ...headers, 'content-type': 'application/fhir+json' },
    body: JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry }),
  });
  if ('failure' in answer && answer.failure === 'too-large' && more !== undefined) {
    return searchAll(upstream, urls, headers);
  }
  const answered = (isSuccess(answer) && isBundle(answer.body) && answer.body.entry) || [];
  const wanted = answered.slice(0, urls.length);
  const found = wanted.flatMap(foundBy);
  const bundle = answered[urls.length]?.resource;
  const searched = more !== undefined && isBundle(bundle) ? { url: more, bundle } : undefined;
  if (found.length === urls.length) {
    return { found, searched };
  }
  const statuses = wanted.map(({ response }) => Number(response?.status?.slice(0, 3)));
  const status = statuses.find((one) => one === 429 || one >= 500);
  return status === undefined ? answer : { status, headers: {}, body: undefined };
}

/**
 * Remembers the lists of Schedules and services, on which each search for free Slots depends. Before a list is used
 * again, Medplum is asked whether anything in it has been changed, created or deleted since; only then is it read again.
 *
 * @param now - the clock, in milliseconds
 */
export function createCalendars(upstream: Upstream, now: () => number, config: PublicConfig): Calendars {
  const lists = createMemory<Remembered>(memory.lists, memory.maxAgeMs, now);
  const single = createMemory<Schedule>(memory.schedules, memory.maxAgeMs, now);
  return {
    read: async (ids, headers, searchBy) => {
      const kinds: readonly Kind[] = ids === undefined ? ['Schedule', 'HealthcareService'] : ['HealthcareService'];
      const keyOf = (kind: Kind): string => `${fingerprint(headers.authorization ?? '')} ${kind}`;
      const known = kinds.map((kind) => lists.get(keyOf(kind)));
      const resources = (ids?.split(',') ?? []).flatMap((id) => single.get(id) ?? []);
      const remembered = together([...known, { resources, isWhole: true }]);
      const search = remembered.isWhole ? searchBy?.(remembered) : undefined;
      // The marks come first: what is changed while a list is read is noticed the next time.
      const named = ids === undefined ? [] : [listUrl('Schedule', ids)];
      const urls = [...kinds.map(markUrl), ...named, recentRows(now(), config)];
      const marked = await searchAll(upstream, urls, headers, search);
      if (!('found' in marked)) {
        return marked;
      }
      const marks = marked.found.map(markOf);
      const missing = kinds.filter((_, index) => known[index]?.mark !== marks[index]);
      const lacking = missing.map((kind) => listUrl(kind));
      const read = lacking.length > 0 ? await searchAll(upstream, lacking, headers) : { found: [] };
      if (!('found' in read)) {
        return read;
      }
      const current = kinds.map((kind, index): Page | undefined => {
        const found = read.found[missing.indexOf(kind)];
        if (!found) {
          return known[index];
        }
        const list = { mark: marks[index] ?? '', ...pageOf(found) };
        lists.set(keyOf(kind), list);
        return list;
      });
      const found = together([...current, ...marked.found.slice(kinds.length).map(pageOf)]);
      for (const schedule of ids === undefined ? [] : found.schedules) {
        single.set(schedule.id ?? '', schedule);
      }
      return { ...found, searched: marked.searched };
    },
  };
}
