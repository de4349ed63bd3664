import { setTimeout as wait } from 'node:timers/promises';
import type { Appointment, Bundle, ExtractResource, Parameters, ResourceType, Subscription } from '@medplum/fhirtypes';
import { isResource } from '../../../core/fhir/resource.ts';
import { type ExtensionUrls, type Problem, problemsIn } from '../../../packages/web/refusal.ts';
import { type AccessTokens, accessTokens } from './access-token.ts';

/** A request that the service refused, or that failed. */
export interface Refusal {
  readonly refused: true;
  /** HTTP status; 0 if there was no response, so that the outcome is unknown. */
  readonly status: number;
  readonly problems: readonly Problem[];
}

type Answer<T extends ResourceType> = ExtractResource<T> | Refusal;

export function isRefusal(answer: object): answer is Refusal {
  return 'refused' in answer;
}

/** Whether a refusal contains one of the codes. */
export function has({ problems }: Refusal, ...codes: readonly string[]): boolean {
  return problems.some(({ code }) => code !== undefined && codes.includes(code));
}

type Moved = Required<Pick<Appointment, 'start' | 'end'>> & { readonly slot: string };

/** Requests one appointment, or several of which all or none are made. The response to the latter is a Bundle. */
type Ask = <T extends 'Appointment' | 'Bundle'>(type: T, request: Appointment | Parameters) => Promise<Answer<T>>;

/** The booking service, as a portal calls it. */
export interface BookingService {
  readonly read: <T extends ResourceType>(type: T, id: string) => Promise<Answer<T>>;
  readonly search: (
    type: ResourceType,
    query: Readonly<Record<string, string | string[]>>,
  ) => Promise<Answer<'Bundle'>>;
  readonly follow: (url: string) => Promise<Answer<'Bundle'>>;
  /** `$hold` and `$book` are repeated if there was no response. Therefore each appointment must have an identifier. */
  readonly hold: Ask;
  readonly book: Ask;
  /** `$find` proposes visits: a Bundle of Bundles of appointments. */
  readonly find: (request: Parameters) => Promise<Answer<'Bundle'>>;
  /** `$waitlist` adds a waitlist entry; with only the id of an entry it returns the position. Repeated like `$book`. */
  readonly wait: (request: Parameters | Pick<Appointment, 'resourceType' | 'id'>) => Promise<Answer<'Appointment'>>;
  /** Creates a Subscription, or updates it if it has an id. */
  readonly subscribe: (subscription: Subscription) => Promise<Answer<'Subscription'>>;
  /**
   * Sends a person's reply, by the token of the message's link. Without a reply it only reads. `to` is the new time of
   * a move.
   */
  readonly answer: (token: string, answer?: string, to?: Moved) => Promise<Answer<'Parameters'>>;
  readonly feed: (token: string) => Promise<Answer<'Parameters'>>;
  readonly cancel: (appointment: Appointment) => Promise<Answer<'Appointment'>>;
  /** A client for one visitor. If `isEnough` returns true, requests are refused with status 429. */
  readonly countedBy: (isEnough: () => Promise<boolean>) => BookingService;
}

interface ServiceOptions {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly extensions: ExtensionUrls;
  /** Timeout of a call including all its retries, in milliseconds; default: 20,000. */
  readonly timeout?: number;
  readonly now: () => number;
}

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly url: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Milliseconds. */
const pauses: readonly number[] = [200, 800];

/** Statuses after which the same request may succeed later. */
const passing: readonly number[] = [0, 429, 502, 503, 504];

async function sendOnce(call: Call, tokens: AccessTokens, signal: AbortSignal) {
  const token = await tokens.current();
  const response = await fetch(call.url, {
    method: call.method,
    redirect: 'error',
    signal,
    headers: {
      accept: 'application/fhir+json',
      authorization: `Bearer ${token}`,
      ...(call.body !== undefined && { 'content-type': 'application/fhir+json' }),
      ...call.headers,
    },
    ...(call.body !== undefined && { body: call.body }),
  });
  if (response.status === 401) {
    tokens.refuse(token);
  }
  // An asynchronous response contains only the URL of its job.
  const [, job] = /\/async\/([^/]+)$/.exec(response.headers.get('content-location') ?? '') ?? [];
  const text = await response.text();
  const body: unknown = job ? { resourceType: 'Task', id: job } : text && JSON.parse(text);
  return { status: response.status, body };
}

/** Sends a request, and repeats it with a new token after a 401. Never rejects; status 0 is a failure. */
async function send(call: Call, tokens: AccessTokens, signal: AbortSignal): Promise<{ status: number; body: unknown }> {
  try {
    const answer = await sendOnce(call, tokens, signal);
    return answer.status === 401 ? await sendOnce(call, tokens, signal) : answer;
  } catch {
    return { status: 0, body: undefined };
  }
}

/** FHIR's code for a cancellation by the patient. */
const byPatient = { system: 'http://terminology.hl7.org/CodeSystem/appointment-cancellation-reason', code: 'pat' };

interface Visitor {
  readonly tokens: AccessTokens;
  readonly isEnough: () => Promise<boolean>;
}

/** Creates a client of the booking service. No other part of the portal calls the service. */
export function bookingService(options: ServiceOptions, visitor?: Visitor): BookingService {
  const { baseUrl, extensions, timeout = 20_000, now } = options;
  const tokenUrl = new URL('/oauth2/token', baseUrl).href;
  const tokens = visitor?.tokens ?? accessTokens({ ...options, tokenUrl }, timeout, now);

  async function call<T extends ResourceType>(type: T, request: Call, isRepeatable: boolean): Promise<Answer<T>> {
    if (await visitor?.isEnough()) {
      return { refused: true, status: 429, problems: [] };
    }
    const signal = AbortSignal.timeout(timeout);
    for (const pause of isRepeatable ? [...pauses, undefined] : [undefined]) {
      const { status, body } = await send(request, tokens, signal);
      if (status >= 200 && status < 300 && isResource(body, type)) {
        return body;
      }
      const refusal: Refusal = { refused: true, status, problems: problemsIn(body, extensions) };
      if (pause === undefined || signal.aborted || !(passing.includes(status) || has(refusal, 'booking-conflict'))) {
        return refusal;
      }
      await wait(pause);
    }
    throw new Error('The last attempt has no pause.');
  }

  const query = (parameters: Readonly<Record<string, string | string[]>>): string =>
    new URLSearchParams(
      Object.entries(parameters).flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, one])),
    ).toString();
  const operation = <T extends 'Appointment' | 'Bundle'>(
    type: T,
    name: 'hold' | 'book' | 'waitlist' | 'find',
    body: object,
  ): Promise<Answer<T>> =>
    call(type, { method: 'POST', url: `${baseUrl}/Appointment/$${name}`, body: JSON.stringify(body) }, true);
  return {
    read: (type, id) => call(type, { method: 'GET', url: `${baseUrl}/${type}/${encodeURIComponent(id)}` }, true),
    search: (type, parameters) =>
      call('Bundle', { method: 'GET', url: `${baseUrl}/${type}?${query(parameters)}` }, true),
    follow: (url) => call('Bundle', { method: 'GET', url: url.startsWith(`${baseUrl}/`) ? url : `${baseUrl}/` }, true),
    hold: (type, request) => operation(type, 'hold', request),
    book: (type, request) => operation(type, 'book', request),
    wait: (request) => operation('Appointment', 'waitlist', request),
    find: (request) => operation('Bundle', 'find', request),
    feed: (token) => {
      const parameter = [{ name: 'token', valueString: token }];
      const body = JSON.stringify({ resourceType: 'Parameters', parameter } satisfies Parameters);
      return call('Parameters', { method: 'POST', url: `${baseUrl}/Schedule/$feed`, body }, true);
    },
    answer: (token, answer, to) => {
      const parameter = [
        { name: 'token', valueString: token },
        ...(answer === undefined ? [] : [{ name: 'answer', valueCode: answer }]),
        ...(to === undefined
          ? []
          : [
              { name: 'slot', valueReference: { reference: to.slot } },
              { name: 'start', valueInstant: to.start },
              { name: 'end', valueInstant: to.end },
            ]),
      ];
      const body = JSON.stringify({ resourceType: 'Parameters', parameter } satisfies Parameters);
      return call('Parameters', { method: 'POST', url: `${baseUrl}/Appointment/$answer`, body }, answer === undefined);
    },
    subscribe: (subscription) =>
      call(
        'Subscription',
        {
          method: subscription.id ? 'PUT' : 'POST',
          url: `${baseUrl}/Subscription${subscription.id ? `/${encodeURIComponent(subscription.id)}` : ''}`,
          body: JSON.stringify(subscription),
        },
        false,
      ),
    cancel: ({ id, meta }) =>
      call(
        'Appointment',
        {
          method: 'PATCH',
          url: `${baseUrl}/Appointment/${id}`,
          body: JSON.stringify([
            { op: 'replace', path: '/status', value: 'cancelled' },
            { op: 'add', path: '/cancelationReason', value: { coding: [byPatient] } },
          ]),
          headers: {
            'content-type': 'application/json-patch+json',
            ...(meta?.versionId && { 'if-match': `W/"${meta.versionId}"` }),
          },
        },
        false,
      ),
    countedBy: (isEnough) => bookingService(options, { tokens, isEnough }),
  };
}

/** Returns the resources of one type in a Bundle. Only the type is validated, not the elements. */
export function resourcesIn<T extends ResourceType>(bundle: Bundle, type: T): ExtractResource<T>[] {
  const entries: unknown = bundle.entry;
  return (Array.isArray(entries) ? entries : [])
    .map((entry: { resource?: unknown } | null) => entry?.resource)
    .filter((resource) => isResource(resource, type));
}

/** Returns the appointments of a response, in the order of the request. */
export const appointmentsIn = (answer: Appointment | Bundle): readonly Appointment[] =>
  answer.resourceType === 'Bundle' ? resourcesIn(answer, 'Appointment') : [answer];

/** Returns the URL of the next page; `undefined` on the last one. */
export function nextPage({ link }: Bundle): string | undefined {
  return (Array.isArray(link) ? link : []).find((bundleLink) => bundleLink?.relation === 'next')?.url;
}

const MAX_PAGES = 20;

/** Reads all pages of a search, at most 20, with the included resources. */
export async function searchAll(
  client: BookingService,
  type: ResourceType,
  query: Readonly<Record<string, string | string[]>>,
): Promise<Bundle | Refusal> {
  const entry: NonNullable<Bundle['entry']> = [];
  let page = await client.search(type, query);
  for (let count = 1; ; count += 1) {
    if (isRefusal(page)) {
      return page;
    }
    entry.push(...(Array.isArray(page.entry) ? page.entry : []));
    const next = nextPage(page);
    if (next === undefined || count >= MAX_PAGES) {
      return { resourceType: 'Bundle', type: 'searchset', entry };
    }
    page = await client.follow(next);
  }
}
