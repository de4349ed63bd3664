import { setTimeout } from 'node:timers/promises';
import type { Bundle, BundleEntry, Resource } from '@medplum/fhirtypes';
import { xmlReader } from '../../core/fhir/xml/read.ts';
import { toXml } from '../../core/fhir/xml/write.ts';
import { isObject, isResource, parseJson } from './resource.ts';

export interface KitResponse {
  readonly status: number;
  /** Headers by lower-case name. */
  readonly header: Readonly<Record<string, string>>;
  readonly text: string;
  /** The parsed JSON or XML body; of Parameters with a `return`, the resource in it. */
  readonly resource: unknown;
}

export interface Sent {
  readonly method: string;
  /** Relative to the base URL, or an absolute URL. */
  readonly path: string;
  readonly format?: 'xml';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A server, called on behalf of one party. */
export interface Client {
  readonly baseUrl: string;
  readonly send: (request: Sent) => Promise<KitResponse>;
}

interface Patience {
  readonly timeout: number;
  readonly mostBytes: number;
}

export const patience: Patience = { timeout: 60_000, mostBytes: 32_000_000 };

const DEPTH = 64;

/** @throws Error if the body is longer than `mostBytes` */
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

/** An operation may return its result in Parameters, as `return`. */
function unwrapped(body: unknown): unknown {
  const result = isResource(body, 'Parameters')
    ? body.parameter?.find(({ name, resource }) => name === 'return' && resource)?.resource
    : undefined;
  return result ?? body;
}

function resourceAt(location: string): unknown {
  const [address = ''] = location.split('/_history/');
  const [id, resourceType] = address.split('/').reverse();
  return id && resourceType ? { resourceType, id } : undefined;
}

export interface Named {
  readonly id: string;
  readonly resourceType: string;
}

export const isNamed = (value: unknown): value is Named =>
  isObject(value) && typeof value.resourceType === 'string' && typeof value.id === 'string';

/** Returns the relative reference of a resource. */
export const nameOf = ({ resourceType, id }: Named): string => `${resourceType}/${id}`;

const isAnyResource = (body: unknown): body is Resource => isObject(body) && typeof body.resourceType === 'string';

function written(body: unknown, format: 'xml' | undefined): string {
  return format && isAnyResource(body) ? toXml(body) : JSON.stringify(body);
}

/**
 * Sends a request and reads the text of the response. Redirects are not followed.
 *
 * @throws Error with the address and the reason if there is no response
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
 * Creates a client of a FHIR server. The token is only sent to this server, even if a response names another address.
 * Redirects are not followed.
 *
 * @param baseUrl - with or without a trailing slash
 * @param token - bearer token, or a function that returns one for each request; absent: anonymous
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
 * Reads the entries of all pages of a Bundle, up to a maximum. A repeated or empty page ends it. Returns the response
 * if a page was refused.
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

const MAX_WAIT = 30;

/** Seconds before the next attempt: `Retry-After`, or one. */
export function waitOf(response: KitResponse | undefined): number {
  const seconds = Number(response?.header['retry-after'] ?? 1);
  return seconds >= 0 ? Math.min(seconds, MAX_WAIT) : 1;
}

const LATER = [429, 503];

const ATTEMPTS = 5;

/** Wraps a client so that it repeats requests after `Retry-After`. */
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
