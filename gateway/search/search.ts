import type { Bundle, BundleLink } from '@medplum/fhirtypes';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest, Handler } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import { fingerprint } from '../medplum/current-profile.ts';
import { isBundle, publicBundle } from '../medplum/public-resources.ts';
import type { ServedTypeName } from '../served-types.ts';
import { onlyBookable } from './bookable.ts';
import { resolveChains } from './chain.ts';
import { searchMedplum } from './medplum.ts';
import { withSuccessors } from './merged-patients.ts';
import type { SearchParam } from './parameters/param.ts';
import { sayingIgnored } from './result/ignored.ts';
import { searchFiltered } from './result/post-filter.ts';
import { withIncluded } from './result/result-parameters.ts';
import { countAsked, countingParams, isCountedInPart, totalOf, withTotal } from './result/result-total.ts';
import { formatQuery, parseQuery, type RewrittenSearch, rewriteSearch } from './rewrite.ts';

const paging: readonly string[] = ['_count', '_offset', '_cursor'];

/** A link with the parameters of the client instead of those for Medplum; only those of the page are Medplum's. */
function asAsked(link: BundleLink, asked: readonly SearchParam[]): BundleLink {
  const [path, query = ''] = link.url.split('?', 2);
  const others = asked.filter(({ name }) => !paging.includes(name));
  const page = parseQuery(query).filter(({ name }) => paging.includes(name));
  return { ...link, url: `${path}?${formatQuery([...others, ...page])}` };
}

const isFirstPage = (params: readonly SearchParam[]): boolean =>
  !params.some(({ name, value }) => name === '_cursor' || (name === '_offset' && Number(value) > 0));

/** The total of a search that is not counted with its page: of the only page, else counted; none above `MAX_COUNT`. */
async function totalInPart(
  type: ServedTypeName,
  params: readonly SearchParam[],
  page: Bundle,
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<{ total?: number }> {
  const known = totalOf(page, isFirstPage(params));
  if (known !== undefined) {
    return { total: known };
  }
  const counted = await searchMedplum(type, formatQuery(countingParams(params)), 'POST', exchange, context);
  const { addresses, config } = context;
  const total = isBundle(counted) ? totalOf(publicBundle(counted, type, addresses, config), true) : undefined;
  return total === undefined ? {} : { total };
}

/** Carries out a rewritten search: resolves chains, follows merges, narrows it to bookable slots, reads, and counts. */
async function carryOut(
  type: ServedTypeName,
  search: RewrittenSearch,
  method: 'GET' | 'POST',
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<FhirResponse> {
  const resolved = await resolveChains(type, search.params, exchange, context);
  const extended = 'status' in resolved ? resolved : await withSuccessors(type, resolved, exchange, context);
  const isInPart = isCountedInPart(type, search.params);
  const isFiltered = search.filters.length > 0;
  const find = (params: readonly SearchParam[]): Promise<Bundle | FhirResponse> => {
    const isChanged = params !== search.params;
    return searchMedplum(
      type,
      formatQuery(withTotal(params, isInPart)),
      isChanged ? 'POST' : method,
      exchange,
      context,
    );
  };
  const narrowed =
    'status' in extended
      ? extended
      : await onlyBookable(type, extended, exchange, context, Date.now(), isFiltered ? undefined : find);
  if ('status' in narrowed) {
    return narrowed;
  }
  const { params } = narrowed;
  if (isFiltered) {
    return searchFiltered(type, { ...search, params }, exchange, context);
  }
  const found = narrowed.found ?? (await find(params));
  if (!isBundle(found)) {
    return found;
  }
  const bundle = publicBundle(found, type, context.addresses, context.config);
  const link = (bundle.link ?? []).map((bundleLink) => asAsked(bundleLink, search.asked));
  const total = isInPart ? await totalInPart(type, params, bundle, exchange, context) : {};
  return { status: 200, resource: { ...bundle, ...total, link } };
}

/**
 * The searches of a type: with GET the query counts, with POST the query and the form. Requests for the same search with
 * the same token that arrive while it is running wait together for one more search: on the day when a clinic releases its
 * times, all patients of a portal ask for the same.
 */
function search(type: ServedTypeName, formOf: (exchange: FhirRequest) => string, method: 'GET' | 'POST'): Handler {
  const respond: Handler = async (exchange, context) => {
    const { config } = context;
    const queries = [exchange.query, formOf(exchange)];
    const sent = countAsked(queries.flatMap(parseQuery), queries);
    const handling = exchange.handling ?? config.handling;
    const rewritten = rewriteSearch(type, sent, { ...config, handling, now: Date.now() });
    return 'params' in rewritten
      ? sayingIgnored(withIncluded(await carryOut(type, rewritten, method, exchange, context), sent), rewritten.ignored)
      : refusal(rewritten, config);
  };
  return async (exchange, context) => {
    const { query, handling, upstreamHeaders } = exchange;
    const caller = fingerprint(upstreamHeaders.authorization ?? '');
    const key = JSON.stringify([type, method, query, formOf(exchange), handling, caller]);
    const before = context.memory.read();
    const found = await context.searches.share(key, async () => {
      const start = context.memory.read();
      const response = await respond(exchange, context);
      context.leads.note(response.resource);
      return { ...response, bytes: context.memory.read() - start };
    });
    // Responses shared with another request count for both.
    const shared = (found.bytes ?? 0) - (context.memory.read() - before);
    return (await context.memory.grow(Math.max(0, shared))) ? found : problem('too-many-requests');
  };
}

/**
 * `GET /{type}?…`.
 *
 * @see https://hl7.org/fhir/R4/http.html#search
 */
export function searchByGet(type: ServedTypeName): Handler {
  return search(type, () => '', 'GET');
}

/**
 * `POST /{type}/_search`: the same with the parameters in a form, which keeps them out of logs along the way.
 *
 * @see https://hl7.org/fhir/R4/http.html#search
 */
export function searchByPost(type: ServedTypeName): Handler {
  return search(type, ({ body }) => (typeof body === 'string' ? body : ''), 'POST');
}
