import type { Bundle, BundleLink, Resource } from '@medplum/fhirtypes';
import type { GatewayContext } from '../../context.ts';
import type { FhirRequest } from '../../handler.ts';
import { problem } from '../../http/errors.ts';
import type { FhirResponse } from '../../http/response.ts';
import { isSuccess, upstreamProblem } from '../../medplum/errors.ts';
import { isBundle, publicResource } from '../../medplum/public-resources.ts';
import type { ServedTypeName } from '../../served-types.ts';
import type { SearchParam } from '../parameters/param.ts';
import { formatQuery, type RewrittenSearch } from '../rewrite.ts';
import { MAX_COUNT } from './result-parameters.ts';

const maxPages = 20;
const defaultCount = 20;

/** Parameters that shape a page; the gateway carries them out itself here. */
const paging: readonly string[] = ['_count', '_offset', '_cursor', '_total', '_summary', '_elements', '_fields'];

/** The query of Medplum's link to the next page. */
function nextQuery(bundle: Bundle): string | undefined {
  const url = Array.isArray(bundle.link) ? bundle.link.find((link) => link?.relation === 'next')?.url : undefined;
  return url?.split('?', 2)[1];
}

/** Reads all pages of a search; gives the resources of the type searched. */
async function readAll(
  type: ServedTypeName,
  params: readonly SearchParam[],
  { upstreamHeaders }: FhirRequest,
  { upstream, config }: GatewayContext,
): Promise<readonly Resource[] | FhirResponse> {
  const found: Resource[] = [];
  let query: string | undefined = formatQuery([...params, { name: '_count', value: String(MAX_COUNT) }]);
  for (let page = 0; page < maxPages && query !== undefined; page++) {
    const answer = await upstream.call({ method: 'GET', path: `fhir/R4/${type}`, query, headers: upstreamHeaders });
    if (!isSuccess(answer)) {
      return upstreamProblem(answer, config);
    }
    if (!isBundle(answer.body)) {
      return problem('bad-gateway');
    }
    found.push(...(answer.body.entry ?? []).flatMap((entry) => publicResource(entry?.resource, type) ?? []));
    query = nextQuery(answer.body);
  }
  return query === undefined ? found : problem('bad-gateway', 'The search has too many results to filter.');
}

/** The links of one page of a result that the gateway has cut into pages itself. */
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
 * A search with a condition that Medplum cannot check: everything that may match is read, filtered exactly, and cut
 * into pages here, so that total and links are right. Meant for the few resources with a `useContext`.
 *
 * @param type - resource type that is searched
 * @param search - the search as Medplum understands it, and the conditions left
 * @see specification 4.1; https://hl7.org/fhir/R4/http.html#paging
 */
export async function searchFiltered(
  type: ServedTypeName,
  search: RewrittenSearch,
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<FhirResponse> {
  const narrowing = search.params.filter(({ name }) => !paging.includes(name));
  const all = await readAll(type, narrowing, exchange, context);
  if ('status' in all) {
    return all;
  }
  const matching = all.filter((resource) => search.filters.every((matches) => matches(resource)));
  const isSorted = search.params.some(({ name }) => name === '_sort');
  const ordered = isSorted ? matching : matching.toSorted((a, b) => ((a.id ?? '') < (b.id ?? '') ? -1 : 1));
  const isCountOnly = search.params.some(({ name, value }) => name === '_summary' && value === 'count');
  const offset = numberOf(search.params, '_offset') ?? 0;
  const count = isCountOnly ? 0 : (numberOf(search.params, '_count') ?? defaultCount);
  const { base } = context.addresses;
  const entry = ordered.slice(offset, offset + count).map((resource) => ({
    fullUrl: `${base}/${type}/${resource.id}`,
    resource,
    search: { mode: 'match' as const },
  }));
  const bundle: Bundle = {
    resourceType: 'Bundle',
    type: 'searchset',
    total: matching.length,
    link: pageLinks(`${base}/${type}`, search.asked, offset, count, matching.length),
    ...(entry.length > 0 && { entry }),
  };
  return { status: 200, resource: bundle };
}
