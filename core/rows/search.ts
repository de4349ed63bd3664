import type { BundleEntry, CodeableConcept, Identifier, ResourceType, Schedule } from '@medplum/fhirtypes';
import { isId, servesAll, serviceIdsOf } from '../fhir/reference.ts';
import type { ResourceSet } from './resource-set.ts';

/** The parameters of a search, in order. */
export type SearchQuery = readonly (readonly [name: string, value: string])[];

/** The address of a search, relative to the FHIR base address. */
export function searchUrl(type: string, query: SearchQuery): string {
  return `${type}?${new URLSearchParams(query.map(([name, value]): [string, string] => [name, value]))}`;
}

/** Divides a list into chunks that one request can name. */
export const chunks = <T>(all: readonly T[], size = 100): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.slice(index * size, (index + 1) * size));

export function search(type: string, query: SearchQuery): BundleEntry {
  return { request: { method: 'GET', url: searchUrl(type, query) } };
}

const unique = (ids: readonly (string | undefined)[]): string[] => [
  ...new Set(ids.filter((id): id is string => id !== undefined)),
];

/** The search for resources of a type by their ids, as a batch entry; nothing without ids. */
export function searchByIds(
  type: ResourceType,
  ids: readonly (string | undefined)[],
  include: SearchQuery = [],
): BundleEntry[] {
  const wanted = unique(ids);
  const count = String(Math.max(wanted.length, 20));
  return wanted.length > 0 ? [search(type, [['_id', wanted.join(',')], ['_count', count], ...include])] : [];
}

/** The searches for the services of Schedules that are not known; a Schedule of all services needs all. */
export function serviceReads(schedules: readonly Schedule[], known: ResourceSet = new Map()): BundleEntry[] {
  const missing = schedules.flatMap(serviceIdsOf).filter((id) => !known.has(`HealthcareService/${id}`));
  return schedules.some(servesAll)
    ? [search('HealthcareService', [['_count', '1000']])]
    : searchByIds('HealthcareService', missing);
}

/** Reads resources by id, as batch entries. Medplum returns them from its cache, whereas a search uses the database. */
export function readsById(type: ResourceType, ids: readonly (string | undefined)[]): BundleEntry[] {
  return unique(ids)
    .filter(isId)
    .map((id) => ({ request: { method: 'GET', url: `${type}/${id}` } }));
}

const token = (system: string | undefined, value: string): string =>
  [system ?? '', value].map((part) => part.replace(/[\\,$|]/g, '\\$&')).join('|');

export const tokensOf = (concepts: readonly CodeableConcept[]): string[] =>
  concepts.flatMap(({ coding = [] }) => coding.flatMap(({ system, code }) => (code ? token(system, code) : [])));

/** The query for resources of a requestor with one of these identifiers; `undefined` without identifiers. */
export function identifierQuery(
  identifiers: readonly Identifier[] | undefined,
  tag: string,
): [string, string][] | undefined {
  const tokens = (identifiers ?? []).flatMap(({ system, value }) => (value ? [token(system, value)] : []));
  return tokens.length > 0
    ? [
        ['identifier', tokens.join(',')],
        ['_tag', tag],
      ]
    : undefined;
}

export function hasMore({ resource }: BundleEntry): boolean {
  return resource?.resourceType === 'Bundle' && (resource.link ?? []).some(({ relation }) => relation === 'next');
}

/** The largest number of pages of a search; Medplum returns no further ones. */
const MAX_PAGES = 10;

/** All pages of a search for Slots. They belong in one transaction, so that no write occurs between two pages. */
export function pagesOf({ request }: BundleEntry): BundleEntry[] {
  const [type = '', query] = (request?.url ?? '').split('?');
  const parameters = [...new URLSearchParams(query)];
  const count = Number(new URLSearchParams(query).get('_count'));
  return Array.from({ length: MAX_PAGES }, (_, page) =>
    search(type, [...parameters, ['_sort', 'start,_id'], ['_offset', String(page * count)]]),
  );
}
