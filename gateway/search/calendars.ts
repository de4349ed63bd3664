import type { Bundle, BundleEntry, HealthcareService, Resource, Schedule, Task } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../core/fhir/artefacts.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { recentRows } from '../../core/slots/reservation.ts';
import type { MedplumResponse, Upstream, UpstreamFailure } from '../medplum/client.ts';
import { fingerprint } from '../medplum/current-profile.ts';
import { isSuccess } from '../medplum/errors.ts';
import { createMemory } from '../medplum/memory.ts';
import { isBundle } from '../medplum/public-resources.ts';
import { createCollapsing } from './collapse.ts';

/** Schedules and services with the elements that policies depend on. */
export interface CalendarList {
  readonly schedules: readonly Schedule[];
  readonly services: readonly HealthcareService[];
  /** The rows with current reservations. */
  readonly rows: readonly Task[];
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
   * @returns the current lists, or Medplum's response if the read fails
   */
  readonly read: (
    ids: string | undefined,
    headers: Readonly<Record<string, string>>,
  ) => Promise<CalendarList | MedplumResponse | UpstreamFailure>;
  /** The lists as this caller last read them; `undefined` if they are not remembered. */
  readonly recall: (ids: string | undefined, headers: Readonly<Record<string, string>>) => CalendarList | undefined;
}

/** Medplum's limit for one page. */
export const MAX_SCHEDULES = 1000;

/** Maximum number of remembered lists (by caller) and single Schedules, and their maximum age in milliseconds. */
const memory = { callers: 50, schedules: 10_000, maxAgeMs: 30_000 };

const kinds = ['Schedule', 'HealthcareService'] as const;

type Kind = (typeof kinds)[number];

/** Only the elements that policies depend on, because a page has up to a thousand resources. */
const FIELDS = 'id,active,actor,serviceType,extension';

const url = (type: Kind, query: Record<string, string>): string => `${type}?${new URLSearchParams(query)}`;

const listUrl = (type: Kind, ids?: string): string =>
  url(type, { ...(ids !== undefined && { _id: ids }), _count: String(MAX_SCHEDULES), _fields: FIELDS });

/** The search for the number of resources and the latest change: if both are the same, the list is unchanged. */
const markUrl = (type: Kind): string =>
  url(type, { _sort: '-_lastUpdated', _count: '1', _total: 'accurate', _fields: 'id,meta' });

/** The parts of a search result that are read. */
type Found = Pick<Bundle, 'entry' | 'link' | 'total'>;

function resourcesIn({ entry = [] }: Found = {}): Resource[] {
  return entry.flatMap(({ resource }) => resource ?? []);
}

function markOf(found: Found): string {
  const [last] = resourcesIn(found);
  return JSON.stringify([found.total, last?.id, last?.meta?.versionId]);
}

/** The marks of both lists, and the rows with reservations. */
interface Checked {
  readonly mark: string;
  readonly rows: readonly Resource[];
}

/** Resources with the mark that was read before them. */
interface Remembered {
  readonly mark: string;
  readonly resources: readonly Resource[];
  readonly isWhole: boolean;
}

function combine(checked: Checked, pages: readonly Remembered[]): CalendarList {
  const resources = pages.flatMap((page) => page.resources);
  return {
    schedules: resources.filter((resource) => isResource(resource, 'Schedule')),
    services: resources.filter((resource) => isResource(resource, 'HealthcareService')),
    rows: checked.rows.filter((resource) => isResource(resource, 'Task')),
    isWhole: pages.every(({ isWhole }) => isWhole),
  };
}

/** The result of one search of a batch, in a list: an empty result if the caller may not search; no result if it failed. */
function resultOf({ resource, response }: BundleEntry): Found[] {
  if (isResource(resource, 'Bundle')) {
    return [resource];
  }
  return response?.status?.startsWith('403') ? [{}] : [];
}

/**
 * Carries out several searches in one call. If one fails, so do all: with its status if that is 429 or above 499, else
 * with the response to the call.
 */
async function searchAll(
  upstream: Upstream,
  urls: readonly string[],
  headers: Readonly<Record<string, string>>,
): Promise<readonly Found[] | MedplumResponse | UpstreamFailure> {
  const entry = urls.map((search) => ({ request: { method: 'GET', url: search } }));
  const response = await upstream.call({
    method: 'POST',
    path: 'fhir/R4',
    headers: { ...headers, 'content-type': 'application/fhir+json' },
    body: JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry }),
  });
  const answered = (isSuccess(response) && isBundle(response.body) && response.body.entry) || [];
  const found = answered.flatMap(resultOf);
  if (found.length === urls.length) {
    return found;
  }
  const statuses = answered.map((result) => Number(result.response?.status?.slice(0, 3)));
  const failed = statuses.find((status) => status === 429 || status >= 500);
  return failed === undefined ? response : { status: failed, headers: {}, body: undefined };
}

/**
 * Remembers Schedules and services, on which each search for free Slots depends. Before each use, Medplum is asked
 * whether any of them was changed, created or deleted since; only then are they read again. All searches of a caller
 * that wait when this check starts share it.
 *
 * @param collapseMs - maximum time that a check waits for the one before it
 */
export function createCalendars(
  upstream: Upstream,
  now: () => number,
  config: PublicConfig,
  collapseMs: number,
): Calendars {
  const latestChecks = createMemory<Checked>(memory.callers, memory.maxAgeMs, now);
  const lists = createMemory<Remembered>(2 * memory.callers, memory.maxAgeMs, now);
  const singleSchedules = createMemory<Remembered>(memory.schedules, memory.maxAgeMs, now);
  const checks = createCollapsing<Checked | MedplumResponse | UpstreamFailure>(collapseMs);
  const check = async (headers: Readonly<Record<string, string>>) => {
    const found = await searchAll(upstream, [...kinds.map(markUrl), recentRows(now(), config)], headers);
    return 'map' in found
      ? { mark: found.slice(0, kinds.length).map(markOf).join(), rows: resourcesIn(found[kinds.length]) }
      : found;
  };
  const remembered = (caller: string, ids: string | undefined, checked: Checked): CalendarList | undefined => {
    const schedules =
      ids === undefined
        ? [lists.get(`${caller} Schedule`)]
        : ids.split(',').map((id) => singleSchedules.get(`${caller} ${id}`));
    const pages = [...schedules, lists.get(`${caller} HealthcareService`)];
    const current = pages.flatMap((page) => (page?.mark === checked.mark ? [page] : []));
    return current.length === pages.length ? combine(checked, current) : undefined;
  };
  return {
    recall: (ids, headers) => {
      const caller = fingerprint(headers.authorization ?? '');
      const checked = latestChecks.get(caller);
      return checked && remembered(caller, ids, checked);
    },
    read: async (ids, headers) => {
      const caller = fingerprint(headers.authorization ?? '');
      const checked = await checks.share(caller, () => check(headers));
      if (!('mark' in checked)) {
        return checked;
      }
      latestChecks.set(caller, checked);
      const unchanged = remembered(caller, ids, checked);
      if (unchanged) {
        return unchanged;
      }
      const found = await searchAll(upstream, [listUrl('Schedule', ids), listUrl('HealthcareService')], headers);
      if (!('map' in found)) {
        return found;
      }
      const pages = found.map((page): Remembered => {
        const isWhole = !page.link?.some(({ relation }) => relation === 'next');
        // The mark was read first: a change while the list is read is noticed the next time.
        return { mark: checked.mark, resources: resourcesIn(page), isWhole };
      });
      for (const [index, page] of pages.entries()) {
        if (kinds[index] !== 'Schedule' || ids === undefined) {
          lists.set(`${caller} ${kinds[index]}`, page);
          continue;
        }
        for (const id of ids.split(',')) {
          singleSchedules.set(`${caller} ${id}`, {
            ...page,
            resources: page.resources.filter((resource) => resource.id === id),
          });
        }
      }
      return combine(checked, pages);
    },
  };
}
