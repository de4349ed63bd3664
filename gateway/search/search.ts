import type { BundleLink } from '@medplum/fhirtypes';
import type { Issue } from '../../core/fhir/outcome.ts';
import type { FhirRequest, Handler } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import type { UpstreamCall } from '../medplum/client.ts';
import { isSuccess, upstreamProblem } from '../medplum/errors.ts';
import { isBundle, publicBundle } from '../medplum/public-resources.ts';
import type { ServedTypeName } from '../served-types.ts';
import { resolveChains } from './chain.ts';
import type { SearchParam } from './filter.ts';
import { searchFiltered } from './post-filter.ts';
import { formatQuery, parseQuery, type RewrittenSearch, rewriteSearch } from './rewrite.ts';

function isRefused(search: RewrittenSearch | readonly Issue[]): search is readonly Issue[] {
  return Array.isArray(search);
}

/** The call that searches, by the client's own method: what it keeps out of addresses stays out of them. */
function searchCall(
  type: ServedTypeName,
  query: string,
  method: 'GET' | 'POST',
  headers: FhirRequest['upstreamHeaders'],
): UpstreamCall {
  const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
  return method === 'POST'
    ? { method, path: `fhir/R4/${type}/_search`, body: query, headers: form }
    : { method, path: `fhir/R4/${type}`, query, headers };
}

const paging: readonly string[] = ['_count', '_offset', '_cursor'];

/** A link that repeats the search as it was sent, not as Medplum was asked; only the page is that of Medplum's link. */
function asSent(link: BundleLink, sent: readonly SearchParam[]): BundleLink {
  const [path = '', query = ''] = link.url.split('?', 2);
  const others = sent.filter(({ name }) => !paging.includes(name));
  const page = parseQuery(query).filter(({ name }) => paging.includes(name));
  return { ...link, url: `${path}?${formatQuery([...others, ...page])}` };
}

/** The searches of a type: by GET the query counts, by POST the query and the form. */
function search(type: ServedTypeName, formOf: (exchange: FhirRequest) => string, method: 'GET' | 'POST'): Handler {
  return async (exchange, context) => {
    const { config, upstream, addresses } = context;
    const sent = [...parseQuery(exchange.query), ...parseQuery(formOf(exchange))];
    const rewritten = rewriteSearch(type, sent, { ...config, now: Date.now() });
    if (isRefused(rewritten)) {
      return refusal(rewritten, config);
    }
    const params = await resolveChains(rewritten.params, exchange, context);
    if ('status' in params) {
      return params;
    }
    if (rewritten.filters.length > 0) {
      return searchFiltered(type, sent, { ...rewritten, params }, exchange, context);
    }
    const isChained = params !== rewritten.params;
    const call = searchCall(type, formatQuery(params), isChained ? 'POST' : method, exchange.upstreamHeaders);
    const found = await upstream.call(call);
    if (!isSuccess(found)) {
      return upstreamProblem(found, config);
    }
    if (!isBundle(found.body)) {
      return problem('bad-gateway');
    }
    const bundle = publicBundle(found.body, type, addresses);
    return { status: 200, resource: { ...bundle, link: (bundle.link ?? []).map((one) => asSent(one, sent)) } };
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
 * `POST /{type}/_search`: the same with the parameters in a form, which keeps them out of logs on the way.
 *
 * @see https://hl7.org/fhir/R4/http.html#search
 */
export function searchByPost(type: ServedTypeName): Handler {
  return search(type, ({ body }) => (typeof body === 'string' ? body : ''), 'POST');
}
