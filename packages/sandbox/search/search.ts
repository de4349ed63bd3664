import {
  badRequest,
  DEFAULT_MAX_SEARCH_COUNT,
  DEFAULT_SEARCH_COUNT,
  OperationOutcomeError,
  type SearchRequest,
} from '@medplum/core';
import type { BundleLink, ResourceType } from '@medplum/fhirtypes';
import { rowOf, type StoredResource, type Write } from '../storage/change.ts';
import { sorted } from './order.ts';
import { isAfter, type PagedSearch, parseCursor, searchLinks } from './page.ts';
import { idsToTry } from './plan.ts';
import { isDeleted, type Predicate, predicateOf } from './predicate.ts';
import type { SearchSource } from './source.ts';

/** One page of a search. */
export interface SearchResult {
  readonly resources: StoredResource[];
  /** The number of matches on all pages; only when asked for. */
  readonly total: number | undefined;
  readonly link: BundleLink[];
}

const largestOffset = 10_000;

/** Fills in the missing page parameters, and keeps the page within Medplum's limits. */
function paged(request: SearchRequest): PagedSearch {
  const count = Math.min(request.count ?? DEFAULT_SEARCH_COUNT, DEFAULT_MAX_SEARCH_COUNT);
  const offset = request.offset ?? 0;
  if (offset > largestOffset) {
    throw new OperationOutcomeError(badRequest(`Search offset exceeds maximum (got ${offset}, max ${largestOffset})`));
  }
  return { ...request, count, offset };
}

function matches(
  source: SearchSource,
  type: ResourceType,
  request: SearchRequest,
  mayRead: (type: ResourceType) => Predicate,
): StoredResource[] {
  const isWanted = predicateOf(source, type, request.filters ?? []);
  const isReadable = mayRead(type);
  const found: StoredResource[] = [];
  const findsDeleted = request.filters?.some(({ code }) => code === '_deleted') ?? false;
  for (const version of source.newest(type, idsToTry(source, type, request.filters ?? []))) {
    const row = version.resource ?? (findsDeleted ? deletedRow(version) : undefined);
    if (row && isWanted(row) && isReadable(row)) {
      found.push(row);
    }
  }
  return found;
}

const withoutMark = ({ resourceType, id, meta }: StoredResource): StoredResource =>
  rowOf({ type: resourceType, id }, { lastUpdated: meta?.lastUpdated });

const deletedRow = (write: Write): StoredResource =>
  rowOf(write, { lastUpdated: write.lastUpdated, deleted: true, project: write.project });

/**
 * Runs a search, without its includes.
 *
 * @param mayRead - the caller's rights, per type
 * @param baseUrl - of the server, with a slash at its end
 * @throws OperationOutcomeError as in Medplum: 400 for an invalid search, 403 for a type that the caller may not search
 * @see https://hl7.org/fhir/R4/search.html
 */
export function search(
  source: SearchSource,
  request: SearchRequest,
  mayRead: (type: ResourceType) => Predicate,
  baseUrl: string,
): SearchResult {
  const page = paged(request);
  const types = request.types ?? [request.resourceType];
  const storedResources = types.flatMap((type) => matches(source, type, page, mayRead));
  const ordered = sorted(storedResources, request.resourceType, request.sortRules);
  const cursor = parseCursor(page.cursor);
  if (cursor && page.offset > 0) {
    throw new OperationOutcomeError(badRequest('Cannot use both offset and cursor'));
  }
  const rest = cursor
    ? ordered.filter((resource) => isAfter(cursor, resource))
    : ordered.slice(Math.max(page.offset, 0));
  const resources = rest
    .slice(0, Math.max(page.count, 0))
    .map((storedResource) => (isDeleted(storedResource) ? withoutMark(storedResource) : storedResource));
  const wantsTotal = page.total === 'accurate' || page.total === 'estimate';
  return {
    resources,
    total: wantsTotal ? storedResources.length : undefined,
    link: searchLinks(baseUrl, page, resources, page.count > 0 ? rest[page.count] : undefined),
  };
}
