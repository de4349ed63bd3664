import type { BundleEntry, HealthcareService, Schedule } from '@medplum/fhirtypes';
import { formatInstant } from '../fhir/instant.ts';
import { serviceIdsOf } from '../fhir/reference.ts';
import { type SearchQuery, search, searchByIds, tokensOf } from '../rows/search.ts';
import type { Interval } from '../time/interval.ts';
import type { Pool } from './visit.ts';

const MAX_SCHEDULES = '1000';

/** The page size of a search for Slots: Medplum's maximum. */
export const PAGE = 1_000;

/** The size of the first page, which is often enough. */
export const FIRST_PAGE = 400;

const unique = (ids: readonly string[]): string[] => [...new Set(ids)];

const servicesIn = (pools: readonly Pool[]): string[] =>
  unique(pools.flatMap((pool) => (pool.kind === 'service' ? [pool.service] : [])));

const schedules = (query: SearchQuery): BundleEntry =>
  search('Schedule', [['active:not', 'false'], ['_sort', '_id'], ['_count', MAX_SCHEDULES], ...query]);

/**
 * The searches for the resources of pools: services, and Schedules by their ids or by the services that are their
 * actors.
 */
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
 * The searches for Schedules of services: by the service types; if a service has no type, all Schedules.
 * @param services - of pools
 */
export function scheduleReadsFor(services: readonly HealthcareService[]): BundleEntry[] {
  const tokens = services.map(({ type = [] }) => tokensOf(type));
  const isCoded = tokens.every((some) => some.length > 0);
  return services.length === 0 ? [] : [schedules(isCoded ? [['service-type', unique(tokens.flat()).join(',')]] : [])];
}

/** The searches for services of Schedules that were not read yet. */
export function namedServiceReads(found: readonly Schedule[], known: ReadonlySet<string>): BundleEntry[] {
  return searchByIds(
    'HealthcareService',
    unique(found.flatMap(serviceIdsOf)).filter((id) => !known.has(id)),
  );
}

/**
 * The search for a page of the free Slots of some Schedules, by start.
 * @param time - the Slots overlap it
 * @param from - earliest start of the Slots; absent for the first page
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
