import type { BundleEntry, HealthcareService, Schedule } from '@medplum/fhirtypes';
import { formatInstant } from '../fhir/instant.ts';
import { serviceIdsOf } from '../fhir/reference.ts';
import { type SearchQuery, search, searchByIds, tokensOf } from '../rows/search.ts';
import type { Interval } from '../time/interval.ts';
import type { Pool } from './visit.ts';

/** How many Schedules a search for those of services finds. */
const MAX_SCHEDULES = '1000';

/** How many Slots a page has: as many as Medplum allows. */
export const PAGE = 1_000;

/** How many the first page has: often they are enough. */
export const FIRST_PAGE = 400;

const unique = (ids: readonly string[]): string[] => [...new Set(ids)];

const servicesIn = (pools: readonly Pool[]): string[] =>
  unique(pools.flatMap((pool) => (pool.kind === 'service' ? [pool.service] : [])));

const schedules = (query: SearchQuery): BundleEntry =>
  search('Schedule', [['active:not', 'false'], ['_sort', '_id'], ['_count', MAX_SCHEDULES], ...query]);

/** The searches for what pools name: services, and Schedules by their ids or as the calendars of services. */
export function poolReads(pools: readonly Pool[]): BundleEntry[] {
  const services = servicesIn(pools);
  const named = unique(pools.flatMap((pool) => (pool.kind === 'schedules' ? pool.schedules : [])));
  const actors = services.map((id) => `HealthcareService/${id}`).join(',');
  return [
    ...searchByIds('HealthcareService', services),
    ...searchByIds('Schedule', named),
    ...(services.length > 0 ? [schedules([['actor', actors]])] : []),
  ];
}

/**
 * The searches for the Schedules that offer services: by the codes of these; if one of them has none, all Schedules.
 *
 * @param services - of pools
 */
export function scheduleReadsFor(services: readonly HealthcareService[]): BundleEntry[] {
  const tokens = services.map(({ type = [] }) => tokensOf(type));
  const isCoded = tokens.every((some) => some.length > 0);
  return services.length === 0 ? [] : [schedules(isCoded ? [['service-type', unique(tokens.flat()).join(',')]] : [])];
}

/** The searches for the services that Schedules name and that were not read yet. */
export function namedServiceReads(found: readonly Schedule[], known: ReadonlySet<string>): BundleEntry[] {
  return searchByIds(
    'HealthcareService',
    unique(found.flatMap(serviceIdsOf)).filter((id) => !known.has(id)),
  );
}

/**
 * The search for a page of the free Slots of some Schedules, by start.
 *
 * @param time - those that overlap it
 * @param from - those that start there or later, if the page is not the first
 */
export function slotPage(ids: readonly string[], time: Interval, from?: number, count = PAGE): BundleEntry {
  return search('Slot', [
    ['schedule', ids.map((id) => `Schedule/${id}`).join(',')],
    ['status', 'free'],
    from === undefined ? ['end', `gt${formatInstant(time.start)}`] : ['start', `ge${formatInstant(from)}`],
    ['start', `lt${formatInstant(time.end)}`],
    ['_sort', 'start,_id'],
    ['_count', String(count)],
  ]);
}
