import { setTimeout } from 'node:timers/promises';
import type { Bundle, BundleEntry, Resource } from '@medplum/fhirtypes';
import { xmlReader } from '../../core/fhir/xml/read.ts';
import { toXml } from '../../core/fhir/xml/write.ts';
import { isObject, isResource, parseJson } from './resource.ts';

/** The answer to a request. */
export interface KitResponse {
  readonly status: number;
  /** By their names in lower case. */
  readonly header: Readonly<Record<string, string>>;
  readonly text: string;
  /** The body if it is JSON or XML; the resource in it, if it is Parameters with a `return`. */
  readonly resource: unknown;
}

/** A request as it is sent. */
export interface Sent {
  readonly method: string;
  /** Below the base address, or an absolute address. */
  readonly path: string;
  readonly format?: 'xml';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** One of the servers that the kit calls, on behalf of one of the parties. */
export interface Client {
  readonly baseUrl: string;
  readonly send: (request: Sent) => Promise<KitResponse>;
}

/** What a server may take: milliseconds for an answer, and its longest answer in bytes. */
interface Patience {
  readonly timeout: number;
  readonly mostBytes: number;
}

export const patience: Patience = { timeout: 60_000, mostBytes: 32_000_000 };

const DEPTH = 64;

/**
 * The text of an answer.
 *
 * @throws Error if it is longer than any answer should be
 */
async function textOf({ body }: Response, mostBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > mostBytes) {
      throw new Error(`The answer is longer than ${mostBytes} bytes.`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parsed(text: string, contentType: string): unknown {
  if (!/[+/]xml\b/.test(contentType)) {
    return parseJson(text);
  }
  const reader = xmlReader(DEPTH);
  reader.write(text);
  const reading = reader.end();
  return 'value' in reading ? reading.value : undefined;
}

/** An operation may answer with Parameters that have the result as `return`. */
function unwrapped(body: unknown): unknown {
  const result = isResource(body, 'Parameters')
    ? body.parameter?.find(({ name, resource }) => name === 'return' && resource)?.resource
    : undefined;
  return result ?? body;
}

/** What was created, where nothing but its `Location` says so. */
function resourceAt(location: string): unknown {
  const [address = ''] = location.split('/_history/');
  const [id, resourceType] = address.split('/').reverse();
  return id && resourceType ? { resourceType, id } : undefined;
}

/** A resource that has an id. */
export interface Named {
  readonly id: string;
  readonly resourceType: string;
}

/** Whether a value is a resource with an id. */
export const isNamed = (value: unknown): value is Named =>
  isObject(value) && typeof value.resourceType === 'string' && typeof value.id === 'string';

/** The reference to a resource. */
export const nameOf = ({ resourceType, id }: Named): string => `${resourceType}/${id}`;

const isAnyResource = (body: unknown): body is Resource => isObject(body) && typeof body.resourceType === 'string';

function written(body: unknown, format: 'xml' | undefined): string {
  return format && isAnyResource(body) ? toXml(body) : JSON.stringify(body);
}

/**
 * The answer to a request, and its text; no redirect is followed.
 *
 * @throws Error that says which address has not answered, and why
 */
export async function reach(
  address: string | URL,
  { timeout, mostBytes }: Patience,
  request: RequestInit,
): Promise<{ response: Response; text: string }> {
  try {
    const response = await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(timeout), ...request });
    return { response, text: await textOf(response, mostBytes) };
  } catch (error) {
    const { cause, message } = error instanceof Error ? error : new Error(String(error));
    const why = cause instanceof Error ? cause.message || Object(cause).code : message;
    throw new Error(`${request.method ?? 'GET'} ${address}: no answer (${why}).`, { cause: error });
  }
}

/**
 * A client of a FHIR server. The token goes to no other server, whatever address an answer names; no redirect is followed.
 *
 * @param baseUrl - with or without a trailing slash
 * @param token - bearer token, or what gives one for each request; without one the client is anonymous
 */
export function clientOf(baseUrl: string, token?: string | (() => Promise<string>), bounds = patience): Client {
  const base = baseUrl.replace(/(?<!\/)\/+$/, '');
  return {
    baseUrl: base,
    async send({ method, path, format, headers, body }) {
      const type = format ? 'application/fhir+xml' : 'application/fhir+json';
      const url = new URL(path.startsWith('/') ? `${base}${path}` : path, `${base}/`);
      const isKnown = url.origin === new URL(base).origin;
      const bearer = isKnown && (typeof token === 'function' ? await token() : token);
      const { response, text } = await reach(url, bounds, {
        method,
        headers: {
          accept: type,
          ...(method !== 'GET' && { prefer: 'return=representation' }),
          ...(bearer && { authorization: `Bearer ${bearer}` }),
          ...(body !== undefined && { 'content-type': type }),
          ...headers,
        },
        ...(body !== undefined && { body: written(body, format) }),
      });
      const isUnsaid = text === '' && response.status === 201;
      const resource = isUnsaid
        ? resourceAt(response.headers.get('location') ?? '')
        : unwrapped(parsed(text, response.headers.get('content-type') ?? ''));
      return { status: response.status, header: Object.fromEntries(response.headers), text, resource };
    },
  };
}

/**
 * The entries of a Bundle and of those that follow, up to a number. A page that comes again ends it, and so does an empty one.
 *
 * @returns the answer, if a page was refused
 */
export async function entriesOf(
  client: Client,
  first: string,
  most: number,
): Promise<{ entries: BundleEntry[]; isCut: boolean } | KitResponse> {
  const entries: BundleEntry[] = [];
  const seen = new Set<string>();
  for (let path: string | undefined = first; path !== undefined; ) {
    seen.add(path);
    const response = await client.send({ method: 'GET', path });
    if (response.status !== 200 || !isResource(response.resource, 'Bundle')) {
      return response;
    }
    const bundle: Bundle = response.resource;
    const more = (bundle.entry ?? []).filter(isObject);
    entries.push(...more);
    const next: string | undefined = bundle.link?.find(({ relation }) => relation === 'next')?.url;
    if (entries.length > most || (next && (entries.length >= most || more.length === 0 || seen.has(next)))) {
      return { entries: entries.slice(0, most), isCut: true };
    }
    path = next;
  }
  return { entries, isCut: false };
}

/** The longest wait that a server may ask for, in seconds. */
const MAX_WAIT = 30;

/** How long to wait before the next attempt, in seconds: as long as the server says, or a second. */
export function waitOf(response: KitResponse | undefined): number {
  const seconds = Number(response?.header['retry-after'] ?? 1);
  return seconds >= 0 ? Math.min(seconds, MAX_WAIT) : 1;
}

/** Statuses of a server that says when to come again. */
const LATER = [429, 503];

/** How often a server may put off a request. */
const ATTEMPTS = 5;

/** A client that comes again when a server says so (`Retry-After`). */
export const retrying = (client: Client): Client => ({
  ...client,
  async send(request) {
    for (let attempt = 1; ; attempt++) {
      const response = await client.send(request);
      if (attempt === ATTEMPTS || !LATER.includes(response.status) || response.header['retry-after'] === undefined) {
        return response;
      }
      await setTimeout(1_000 * waitOf(response));
    }
  },
});
