import type {
  Appointment,
  Bundle,
  BundleEntry,
  ExtractResource,
  Parameters,
  Resource,
  ResourceType,
} from '@medplum/fhirtypes';
import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import { isObject, isResource } from '../../../../core/fhir/resource.ts';
import { isRefusal, type Refusal, refusalOf } from '../../fhir/refusal.ts';
import { FRONT_DESK_PATH } from '../../settings.ts';
import { accessToken, expire } from '../session/session.ts';
import { config, settings } from '../settings.ts';

/** Time limit of a response, in milliseconds. */
const ANSWER_LIMIT = 30_000;

const fhirBase = `${settings.medplumUrl}fhir/R4`;
const alternativeUrl = artefactUri(config, 'LocalAlternative');

interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** A resource, or the fields of a form. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

async function send(url: string, { method = 'GET', body, headers, signal }: Call): Promise<unknown> {
  const isForm = body instanceof URLSearchParams;
  const limit = AbortSignal.timeout(ANSWER_LIMIT);
  const ending = new AbortController();
  for (const one of [limit, signal]) {
    one?.addEventListener('abort', () => ending.abort());
  }
  let isSent = false;
  try {
    const token = await accessToken();
    isSent = true;
    const response = await fetch(url, {
      method,
      // A change that is written while the page is left must still arrive.
      keepalive: document.hidden,
      signal: ending.signal,
      headers: {
        accept: 'application/fhir+json',
        'x-medplum': 'extended',
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body && !isForm && { 'content-type': 'application/fhir+json' }),
        ...headers,
      },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    });
    const answer: unknown = await response.json().catch(() => undefined);
    if (response.status === 401) {
      expire();
    }
    return response.ok ? answer : refusalOf(response.status, answer, alternativeUrl);
  } catch {
    return refusalOf(isSent ? 0 : 503, undefined, alternativeUrl);
  }
}

const isRefused = (answer: unknown): answer is Refusal => isObject(answer) && isRefusal(answer);

async function call<T extends ResourceType>(
  type: T,
  url: string,
  request: Call,
): Promise<ExtractResource<T> | Refusal> {
  const answer = await send(url, request);
  return isRefused(answer) || isResource(answer, type) ? answer : refusalOf(0, undefined, alternativeUrl);
}

/** The parameters of a search. */
export type Query = readonly (readonly [string, string])[];

/** The URL of a search, relative to Medplum's base. By default its pages are as large as possible. */
export function searchUrl(type: ResourceType, query: Query): string {
  const parameters = new URLSearchParams(query.map(([name, value]) => [name, value]));
  if (!parameters.has('_count')) {
    parameters.set('_count', '1000');
  }
  return `${type}?${parameters}`;
}

const MAX_IDS = 100;

/** The searches for resources by their ids. */
export const idSearches = (type: ResourceType, ids: readonly string[], more: Query = []): string[] =>
  Array.from({ length: Math.ceil(ids.length / MAX_IDS) }, (_, index) =>
    searchUrl(type, [['_id', ids.slice(index * MAX_IDS, (index + 1) * MAX_IDS).join(',')], ...more]),
  );

/** A malformed Bundle has no entries. */
const entriesIn = (bundle: Bundle): readonly (BundleEntry | undefined)[] =>
  Array.isArray(bundle.entry) ? bundle.entry : [];

/** The resources of a Bundle. */
export const resourcesIn = (bundle: Bundle): unknown[] => entriesIn(bundle).map((entry) => entry?.resource);

/** Maximum number of pages of one search; 20 calendars for a week need 2. */
const MAX_PAGES = 20;

async function followed(bundle: Bundle): Promise<unknown[] | Refusal> {
  const found = resourcesIn(bundle);
  let next = bundle.link?.find(({ relation }) => relation === 'next')?.url;
  for (let pages = 1; next && pages < MAX_PAGES; pages += 1) {
    const url = new URL(next);
    const page = await call(
      'Bundle',
      `${fhirBase}${url.pathname.slice(url.pathname.indexOf('/R4') + 3)}${url.search}`,
      {},
    );
    if (isRefusal(page)) {
      return page;
    }
    found.push(...resourcesIn(page));
    next = page.link?.find(({ relation }) => relation === 'next')?.url;
  }
  return found;
}

/** Runs several searches of `searchUrl` in one request, and reads all pages. Returns the resources of each. */
export async function searchAll(urls: readonly string[]): Promise<unknown[][] | Refusal> {
  const answer = await readAll(urls);
  if (isRefusal(answer)) {
    return answer;
  }
  const found: unknown[][] = [];
  for (const entry of entriesIn(answer)) {
    const bundle = entry?.resource;
    if (!isResource(bundle, 'Bundle')) {
      const status = Number(entry?.response?.status?.slice(0, 3) ?? 0);
      return refusalOf(status, entry?.response?.outcome ?? bundle, alternativeUrl);
    }
    const all = await followed(bundle);
    if (!Array.isArray(all)) {
      return all;
    }
    found.push(all);
  }
  return found;
}

/** Reads a Bundle without its further pages: counts and histories. */
export const readBundle = (url: string): Promise<Bundle | Refusal> => call('Bundle', `${fhirBase}/${url}`, {});

/** A search for typed text. Sent as a form, it puts no name into logs of URLs, and needs one CORS request only. */
export const searchTyped = (type: ResourceType, query: Query, signal: AbortSignal): Promise<Bundle | Refusal> =>
  call('Bundle', `${fhirBase}/${type}/_search`, {
    method: 'POST',
    body: new URLSearchParams(query.map(([name, value]) => [name, value])),
    signal,
  });

const sendAll = (type: 'batch' | 'transaction', entry: readonly BundleEntry[]): Promise<Bundle | Refusal> =>
  call('Bundle', fhirBase, { method: 'POST', body: { resourceType: 'Bundle', type, entry } });

/** Reads several URLs in one batch. */
export const readAll = (urls: readonly string[]): Promise<Bundle | Refusal> =>
  sendAll(
    'batch',
    urls.map((url) => ({ request: { method: 'GET', url } })),
  );

/** Writes all entries, or none. */
export const transaction = (entry: readonly BundleEntry[]): Promise<Bundle | Refusal> => sendAll('transaction', entry);

/** The file of a Binary; `undefined` if it cannot be read. */
export async function readFile(id: string): Promise<File | undefined> {
  try {
    const headers = { authorization: `Bearer ${await accessToken()}` };
    const response = await fetch(`${fhirBase}/Binary/${id}`, { headers, signal: AbortSignal.timeout(ANSWER_LIMIT) });
    return response.ok ? new File([await response.blob()], id) : undefined;
  } catch {
    return undefined;
  }
}

/** Updates a resource unless somebody has changed it since (`If-Match`). */
export const update = <T extends ResourceType>(type: T, resource: ExtractResource<T> & Resource) =>
  call(type, `${fhirBase}/${type}/${resource.id}`, {
    method: 'PUT',
    body: resource,
    headers: { 'if-match': `W/"${resource.meta?.versionId}"` },
  });

/** Creates a resource. With a `condition` (`If-None-Exist`), a repeated request does not create it twice. */
export const create = <T extends ResourceType>(type: T, resource: ExtractResource<T> & Resource, condition?: string) =>
  call(type, `${fhirBase}/${type}`, {
    method: 'POST',
    body: resource,
    ...(condition !== undefined && { headers: { 'if-none-exist': condition } }),
  });

/** Books or moves with `$book`, which applies all rules. A moved appointment must have the `version` (`If-Match`). */
export const book = (request: Appointment | Parameters, version?: string): Promise<Appointment | Refusal> =>
  call('Appointment', `${config.baseUrl}/Appointment/$book`, {
    method: 'POST',
    body: request,
    ...(version !== undefined && { headers: { 'if-match': `W/"${version}"` } }),
  });

/** Validates a move with a dry run of `$book`; nothing is written. */
export const judge = ({ parameter = [], ...request }: Parameters, version: string | undefined) =>
  call('OperationOutcome', `${config.baseUrl}/Appointment/$book`, {
    method: 'POST',
    body: { ...request, parameter: [...parameter, { name: 'dry-run', valueBoolean: true }] },
    ...(version !== undefined && { headers: { 'if-match': `W/"${version}"` } }),
  });

const parameters = (operation: '$book' | '$find') => (body: Parameters) =>
  call('Bundle', `${config.baseUrl}/Appointment/${operation}`, { method: 'POST', body });

/** Books or moves several appointments together (`$book`). */
export const bookAll = parameters('$book');

/** Finds visits (`$find`): a Bundle of Bundles. */
export const find = parameters('$find');

/** Adds a patient to the waitlist (`$waitlist`). */
export const waitlist = (body: Parameters): Promise<Appointment | Refusal> =>
  call('Appointment', `${config.baseUrl}/Appointment/$waitlist`, { method: 'POST', body });

/** Announces an absence, confirms its plan, or ends it early (`$absence`). */
export const absence = (body: Parameters): Promise<Parameters | Refusal> =>
  call('Parameters', `${config.baseUrl}/Schedule/$absence`, { method: 'POST', body });

/** The secret link of a calendar feed. */
export interface CalendarLink {
  readonly isActive: boolean;
  /** Whether the feed names patients. */
  readonly withNames: boolean;
  /** The link, only in the response to its creation. */
  readonly link: string | undefined;
}

/** Reads, creates or ends the secret link of a calendar feed (`$feed`). */
export async function calendarLink(
  schedule: string,
  action: 'look' | 'make' | 'end',
  withNames: boolean,
): Promise<CalendarLink | Refusal> {
  const parameter: Parameters['parameter'] = [
    { name: 'schedule', valueReference: { reference: `Schedule/${schedule}` } },
    { name: 'action', valueCode: action },
    { name: 'names', valueBoolean: withNames },
  ];
  const body: Parameters = { resourceType: 'Parameters', parameter };
  const answer = await call('Parameters', `${config.baseUrl}/Schedule/$feed`, { method: 'POST', body });
  if (isRefusal(answer)) {
    return answer;
  }
  const partOf = (name: string) => answer.parameter?.find((one) => one.name === name);
  return {
    isActive: partOf('active')?.valueBoolean === true,
    withNames: partOf('names')?.valueBoolean === true,
    link: partOf('link')?.valueString,
  };
}

/** Sends the waiting notifications of a Subscription now (`$deliver`). A Subscription in error is reactivated. */
export const deliver = (subscription: string): Promise<Bundle | Refusal> =>
  call('Bundle', `${config.baseUrl}/Subscription/${encodeURIComponent(subscription)}/$deliver`, { method: 'POST' });

/** The events of a Subscription from a number on, with references to their appointments (`$events`). */
export const events = (subscription: string, first: number): Promise<Bundle | Refusal> =>
  call(
    'Bundle',
    `${config.baseUrl}/Subscription/${encodeURIComponent(subscription)}/$events?eventsSinceNumber=${first}&content=id-only`,
    {},
  );

/** Calls the server of the front desk, for staff only. `body` is posted as JSON; `isWanted` validates the response. */
export async function deskData<T extends object>(
  path: string,
  isWanted: (answer: unknown) => boolean,
  { body, signal }: Pick<Call, 'body' | 'signal'> = {},
): Promise<T | Refusal> {
  const headers = { accept: 'application/json', ...(body && { 'content-type': 'application/json' }) };
  const answer = await send(`${FRONT_DESK_PATH}${path}`, {
    headers,
    ...(signal && { signal }),
    ...(body && { method: 'POST', body }),
  });
  return isRefused(answer) || isWanted(answer) ? (answer as T | Refusal) : refusalOf(0, undefined, alternativeUrl);
}
