import type { Bundle, BundleEntry, BundleLink } from '@medplum/fhirtypes';
import type { GatewayContext } from '../../context.ts';
import type { FhirRequest } from '../../handler.ts';
import { refusal } from '../../http/errors.ts';
import type { FhirResponse } from '../../http/response.ts';
import { isBundle, publicBundle, publicResource } from '../../medplum/public-resources.ts';
import type { ServedTypeName } from '../../served-types.ts';
import { searchMedplum } from '../medplum.ts';
import { type SearchParam, searchIssue } from '../parameters/param.ts';
import { formatQuery, type RewrittenSearch } from '../rewrite.ts';
import { MAX_COUNT } from './result-parameters.ts';

/** The maximum number of pages that are examined, and the resources on each. */
const examined = { pages: 10, pageSize: MAX_COUNT } as const;
const defaultCount = 20;

/** The longest query of an address, in characters. */
const MAX_LENGTH = 4_000;

/** Parameters that shape a page; they do not count while the gateway looks for matches. */
const paging: readonly string[] = ['_count', '_offset', '_cursor', '_total'];
const shape: readonly string[] = [
  '_summary',
  '_elements',
  '_fields',
  '_include',
  '_include:iterate',
  '_revinclude',
  '_revinclude:iterate',
];

/** The query of Medplum's link to the next page. */
function nextQuery(bundle: Bundle): string | undefined {
  const url = Array.isArray(bundle.link) ? bundle.link.find((link) => link?.relation === 'next')?.url : undefined;
  return url?.split('?', 2)[1];
}

/**
 * The ids of all matches, in order: all pages of the search that Medplum carries out, filtered by the conditions that it
 * cannot check; or the response to send instead: 400 if there are more pages than are examined.
 */
async function matchingIds(
  type: ServedTypeName,
  { params, filters }: RewrittenSearch,
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<readonly string[] | FhirResponse> {
  const narrowing = params.filter(({ name }) => !paging.includes(name) && !shape.includes(name));
  const elements = [...new Set(filters.map(({ element }) => element))].join(',');
  const isSorted = narrowing.some(({ name }) => name === '_sort');
  let query: string | undefined = formatQuery([
    ...narrowing,
    ...(isSorted ? [] : [{ name: '_sort', value: '_id' }]),
    { name: '_elements', value: elements },
    { name: '_count', value: String(examined.pageSize) },
  ]);
  const ids: string[] = [];
  for (let page = 0; page < examined.pages && query !== undefined; page++) {
    const bundle = await searchMedplum(type, query, query.length > MAX_LENGTH ? 'POST' : 'GET', exchange, context);
    if (!isBundle(bundle)) {
      return bundle;
    }
    const found = (bundle.entry ?? []).flatMap((entry) => publicResource(entry?.resource, type) ?? []);
    ids.push(
      ...found.flatMap((resource) =>
        resource.id && filters.every(({ matches }) => matches(resource)) ? [resource.id] : [],
      ),
    );
    query = nextQuery(bundle);
  }
  const most = examined.pages * examined.pageSize;
  const diagnostics = `The search has more than ${most} ${type} resources to examine: narrow it, for example by patient or start.`;
  return query === undefined ? ids : refusal([searchIssue(elements, diagnostics)], context.config);
}

/** The entries of a page in the order of `ids`, in the form that the client wants; then the included resources. */
async function readPage(
  type: ServedTypeName,
  ids: readonly string[],
  params: readonly SearchParam[],
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<readonly BundleEntry[] | FhirResponse> {
  if (ids.length === 0) {
    return [];
  }
  const query = formatQuery([
    { name: '_id', value: ids.join(',') },
    { name: '_count', value: String(ids.length) },
    ...params.filter(({ name }) => shape.includes(name)),
  ]);
  const bundle = await searchMedplum(type, query, 'POST', exchange, context);
  if (!isBundle(bundle)) {
    return bundle;
  }
  const positions = new Map(ids.map((id, index) => [id, index]));
  const positionOf = ({ resource, search }: BundleEntry): number =>
    search?.mode === 'include' ? ids.length : (positions.get(resource?.id ?? '') ?? ids.length);
  const { entry = [] } = publicBundle(bundle, type, context.addresses, context.config);
  return entry.toSorted((a, b) => positionOf(a) - positionOf(b));
}

/** The links of one page of a result that the gateway itself has divided into pages. */
function pageLinks(
  address: string,
  sent: readonly SearchParam[],
  offset: number,
  count: number,
  total: number,
): BundleLink[] {
  const others = sent.filter(({ name }) => name !== '_offset' && name !== '_count');
  const link = (relation: string, start: number): BundleLink => ({
    relation,
    url: `${address}?${formatQuery([
      ...others,
      { name: '_count', value: String(count) },
      ...(start > 0 ? [{ name: '_offset', value: String(start) }] : []),
    ])}`,
  });
  return [
    link('self', offset),
    link('first', 0),
    ...(count > 0 && offset + count < total ? [link('next', offset + count)] : []),
    ...(count > 0 && offset > 0 ? [link('previous', Math.max(0, offset - count))] : []),
  ];
}

function numberOf(sent: readonly SearchParam[], name: string): number | undefined {
  const value = sent.findLast((param) => param.name === name)?.value;
  return value === undefined ? undefined : Number(value);
}

/**
 * A search with a condition that Medplum cannot check: everything that may match is read, filtered exactly, and divided
 * into pages here, so that total and links are right. Meant for the few resources with a `useContext`, for
 * encounters, of which a requestor sees only its own, and for the slots of some weeks; a search with more to examine is refused.
 *
 * @param search - the search as Medplum understands it, and the conditions left
 * @see specification 4.1; https://hl7.org/fhir/R4/http.html#paging
 */
export async function searchFiltered(
  type: ServedTypeName,
  search: RewrittenSearch,
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<FhirResponse> {
  const ids = await matchingIds(type, search, exchange, context);
  if ('status' in ids) {
    return ids;
  }
  const isCountOnly = search.params.some(({ name, value }) => name === '_summary' && value === 'count');
  const offset = numberOf(search.params, '_offset') ?? 0;
  const count = isCountOnly ? 0 : (numberOf(search.params, '_count') ?? defaultCount);
  const entry = await readPage(type, ids.slice(offset, offset + count), search.params, exchange, context);
  if ('status' in entry) {
    return entry;
  }
  const bundle: Bundle = {
    resourceType: 'Bundle',
    type: 'searchset',
    total: ids.length,
    link: pageLinks(`${context.addresses.base}/${type}`, search.asked, offset, count, ids.length),
    ...(entry.length > 0 && { entry: [...entry] }),
  };
  return { status: 200, resource: bundle };
}
