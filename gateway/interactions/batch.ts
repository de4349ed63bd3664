import type { Bundle, BundleEntry } from '@medplum/fhirtypes';
import type { Issue } from '../../core/fhir/outcome/outcome.ts';
import { isObject, isResource } from '../../core/fhir/resource.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest, Handler } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import { failureResponse } from '../medplum/errors.ts';

/** A route for reads: its path, with parameters such as `:id`, and its handler. */
interface Readable {
  readonly path: string;
  readonly handler: Handler;
}

/**
 * Limits of a batch: executed entries, entries in total, resources in all responses, characters of a URL. The bytes of
 * all responses are limited, too (`batchBytes`).
 */
const most = { executed: 50, entries: 1000, resources: 2000, urlLength: 8192 } as const;

interface EntryRequest {
  readonly handler: Handler;
  readonly params: Readonly<Record<string, string>>;
  readonly query: string;
  readonly ifNoneMatch: string | undefined;
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** The parameters of a path; `undefined` if it does not match the route. */
function paramsOf(route: string, segments: readonly (string | undefined)[]): Record<string, string> | undefined {
  const pattern = route.slice(1).split('/');
  const params: Record<string, string> = {};
  const isMatch = pattern.every((part, index) => {
    const segment = segments[index];
    if (part.startsWith(':') && segment) {
      params[part.slice(1)] = segment;
    }
    return part.startsWith(':') ? Boolean(segment) : part === segment;
  });
  return isMatch && pattern.length === segments.length ? params : undefined;
}

/** The request of an entry, or the response that refuses it. */
function readEntry(entry: unknown, readables: readonly Readable[], baseUrl: string): EntryRequest | FhirResponse {
  const request = isObject(entry) && isObject(entry.request) ? entry.request : {};
  const { method, url, ifNoneMatch } = request;
  if (typeof method !== 'string' || typeof url !== 'string' || url.length > most.urlLength) {
    return problem(
      'bad-request',
      `An entry needs request.method and request.url of at most ${most.urlLength} characters.`,
    );
  }
  if (method !== 'GET') {
    return problem(
      'method-not-allowed',
      `A batch can hold GET only, not '${method.slice(0, 20)}': send each write as a request of its own.`,
    );
  }
  const [path = '', query = ''] = url.replace(`${baseUrl}/`, '').split(/\?(.*)/s);
  const segments = path
    .replace(/^\/|\/$/g, '')
    .split('/')
    .map(decoded);
  for (const { path: route, handler } of readables) {
    const params = paramsOf(route, segments);
    if (params) {
      return { handler, params, query, ifNoneMatch: typeof ifNoneMatch === 'string' ? ifNoneMatch : undefined };
    }
  }
  return problem('not-found');
}

/** The number of resources in a response. */
const sizeOf = ({ resource }: FhirResponse): number =>
  isResource(resource, 'Bundle') ? (resource.entry ?? []).length : 1;

/** A response as an entry: the OperationOutcome of an error belongs to `response.outcome`. */
function responseEntry({ status, headers = {}, resource }: FhirResponse): BundleEntry {
  const lastModified = headers['last-modified'];
  const response = {
    status: String(status),
    ...(headers.location && { location: headers.location }),
    ...(headers.etag && { etag: headers.etag }),
    ...(lastModified && { lastModified: new Date(lastModified).toISOString() }),
  };
  return isResource(resource, 'OperationOutcome')
    ? { response: { ...response, outcome: resource } }
    : { ...(resource && { resource }), response };
}

/** Calls the handler of an entry's route, after counting the entry as a request. */
async function executeEntry(
  { handler, params, query, ifNoneMatch }: EntryRequest,
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<FhirResponse> {
  const header = (name: string) => (name === 'if-none-match' ? ifNoneMatch : undefined);
  const request: FhirRequest = { ...exchange, prefersAsync: false, body: undefined, params, query, header };
  return exchange.countAgain() ?? handler(request, context);
}

/**
 * Executes the entries one after the other, so that a batch loads Medplum no more than a single request. Once a limit or
 * the time is exceeded, each further entry is refused.
 */
async function executeEntries(
  entries: readonly unknown[],
  readables: readonly Readable[],
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<readonly FhirResponse[]> {
  const responses: FhirResponse[] = [];
  const end = Date.now() + context.limits.upstreamTimeoutMs;
  let resources = 0;
  for (const [index, entry] of entries.entries()) {
    const request = readEntry(entry, readables, context.config.baseUrl);
    if ('status' in request) {
      responses.push(request);
    } else if (index >= most.executed) {
      responses.push(
        problem('content-too-large', `A batch can hold ${most.executed} entries: send this one in another.`),
      );
    } else if (resources >= most.resources || context.memory.read() >= context.limits.batchBytes) {
      responses.push(
        problem('content-too-large', 'The answers to this batch grow too large: send this entry by itself.'),
      );
    } else if (Date.now() > end) {
      responses.push(failureResponse({ failure: 'timeout' }, context.config));
    } else {
      const response = await executeEntry(request, exchange, context);
      responses.push(response);
      resources += sizeOf(response);
    }
  }
  return responses;
}

/** The entries of a batch, or the issue for which the batch as a whole is refused. */
function entriesOf(body: unknown): readonly unknown[] | Issue {
  const malformed = (expression: string, diagnostics: string): Issue => ({
    code: 'malformed-request',
    diagnostics,
    expression,
  });
  if (!isResource(body, 'Bundle')) {
    return malformed('http.body', 'The body must be a Bundle.');
  }
  const { type, entry = [] }: { type?: unknown; entry?: unknown } = body;
  if (type !== 'batch') {
    return malformed(
      'Bundle.type',
      "The service accepts only Bundles of type 'batch': it does not support transactions.",
    );
  }
  return Array.isArray(entry) && entry.length <= most.entries
    ? entry
    : malformed('Bundle.entry', `Bundle.entry must be a list of at most ${most.entries} entries.`);
}

/**
 * `POST {base}`: several reads in one request. Each entry is executed by the same handler, with the same checks, as a
 * single request, and counts as one. An invalid entry is refused in its response entry.
 *
 * @param readables - the routes that an entry can use
 * @see https://hl7.org/fhir/R4/http.html#transaction
 */
export function batch(readables: readonly Readable[]): Handler {
  return async (exchange, context) => {
    const entries = entriesOf(exchange.body);
    if ('code' in entries) {
      return refusal([entries], context.config);
    }
    const responses = await executeEntries(entries, readables, exchange, context);
    const resource: Bundle = {
      resourceType: 'Bundle',
      type: 'batch-response',
      ...(responses.length > 0 && { entry: responses.map(responseEntry) }),
    };
    return { status: 200, resource };
  };
}
