import { formatSearchQuery, OperationOutcomeError, type SearchRequest, serverError, splitN } from '@medplum/core';
import type { BundleLink } from '@medplum/fhirtypes';
import type { StoredResource } from '../storage/change.ts';

/** A search with a known page. */
export type PagedSearch = SearchRequest & { count: number; offset: number };

/** The point after which a page ordered by `_lastUpdated` begins. */
interface Cursor {
  readonly from: number;
  readonly shown: ReadonlySet<string>;
}

const smallestCursorPage = 20;

/** Reads Medplum's cursor `2-<milliseconds>-<ids already shown>`; anything else is ignored. */
export function parseCursor(cursor: string | undefined): Cursor | undefined {
  const [version, instant, ids] = splitN(cursor ?? '', '-', 3);
  const from = Number(instant);
  if ((version !== '1' && version !== '2') || !instant || Number.isNaN(from)) {
    return undefined;
  }
  return { from, shown: new Set(version === '2' ? ids?.split(',') : []) };
}

/** Whether a resource comes after the cursor. */
export function isAfter(cursor: Cursor, resource: StoredResource): boolean {
  return Date.parse(resource.meta?.lastUpdated ?? '') >= cursor.from && !cursor.shown.has(resource.id);
}

function usesCursor(search: PagedSearch): boolean {
  const [rule, ...others] = search.sortRules ?? [];
  const isByTime = rule?.code === '_lastUpdated' && !rule.descending && others.length === 0;
  return search.offset === 0 && search.count >= smallestCursorPage && isByTime;
}

function nextCursor(page: readonly StoredResource[], next: StoredResource): string {
  const instant = next.meta?.lastUpdated;
  if (page[0]?.meta?.lastUpdated === instant) {
    throw new OperationOutcomeError(serverError(new Error('Cursor fails to make progress')));
  }
  const shown = page.filter(({ meta }) => meta?.lastUpdated === instant).map(({ id }) => id);
  return [`2-${Date.parse(instant ?? '')}`, ...(shown.length > 0 ? [shown.join(',')] : [])].join('-');
}

/**
 * The links of a search result: `self` always; `first`, `next` and `previous` when the page has entries.
 *
 * @param baseUrl - of the server, with a slash at its end
 */
export function searchLinks(
  baseUrl: string,
  search: PagedSearch,
  page: readonly StoredResource[],
  next: StoredResource | undefined,
): BundleLink[] {
  const link = (relation: string, change: Partial<SearchRequest> = {}): BundleLink => ({
    relation,
    url: `${baseUrl}fhir/R4/${search.resourceType}${formatSearchQuery({ ...search, ...change })}`,
  });
  if (search.count <= 0 || page.length === 0) {
    return [link('self')];
  }
  const { count, offset } = search;
  if (usesCursor(search)) {
    const after = next && link('next', { cursor: nextCursor(page, next), offset: undefined });
    return [link('self'), link('first', { cursor: undefined, offset: undefined }), ...(after ? [after] : [])];
  }
  return [
    link('self'),
    link('first', { offset: 0 }),
    ...(next ? [link('next', { offset: offset + count })] : []),
    ...(offset > 0 ? [link('previous', { offset: offset - count })] : []),
  ];
}
