import { Buffer } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { clearTimeout, setTimeout } from 'node:timers';
import type { MedplumClient } from '@medplum/core';
import type { Bundle, BundleEntry, OperationOutcome } from '@medplum/fhirtypes';
import { timeLimits } from '../../core/config/config.ts';
import { type Issue, saysOvertaken } from '../../core/fhir/outcome/outcome.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { config } from './config.ts';

/** The result of a batch or transaction. */
export type BundleResponse =
  | { readonly kind: 'done'; readonly bundle: Bundle }
  /** A concurrent transaction changed a version that this one relies on: nothing was written. */
  | { readonly kind: 'overtaken' }
  /** The server rejected a resource as invalid: nothing was written. */
  | { readonly kind: 'invalid'; readonly outcome: OperationOutcome }
  /** The server refused the request or could not be reached: nothing was written. */
  | { readonly kind: 'failed'; readonly issue: Issue; readonly isLimited?: true }
  /** No usable response: a transaction may have been carried out. */
  | { readonly kind: 'lost'; readonly issue: Issue };

/** The credentials of a request, and how much of `meta` the server returns. */
export interface RequestOptions {
  readonly authorization?: string | undefined;
  /** Whether `meta` contains the author of a resource (Medplum's extended mode). */
  readonly withAuthors?: boolean;
}

/** Time limit of one request: a read and a write fit into the time that the gateway waits. */
const LIMIT = timeLimits(config).exchange;

export interface ServerRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A request with a body is a POST, one without a GET. */
  readonly body?: string | undefined;
}

/** Keep-alive connections with time limits of their own, which runtimes other than Medplum's add to the client. */
export interface Connections {
  /**
   * Sends a request and reads its response; never rejects.
   * @param limit - milliseconds
   */
  readonly send: (request: ServerRequest, limit: number) => Promise<BotResponse | RequestFailure>;
}

/** The client that a runtime gives to a Bot; Medplum's own has no keep-alive connections. */
type Client = MedplumClient & { readonly connections?: Connections };

/** Between a Bot and its server, compressing a response takes longer than sending it uncompressed. */
function headersFor(medplum: MedplumClient, { authorization, withAuthors }: RequestOptions): Record<string, string> {
  return {
    'content-type': 'application/fhir+json',
    accept: 'application/fhir+json',
    'accept-encoding': 'identity',
    authorization: authorization ?? `Bearer ${medplum.getAccessToken()}`,
    ...(withAuthors && { 'x-medplum': 'extended' }),
  };
}

/** The response to a request: its status, and its body if that is JSON. */
export interface BotResponse {
  readonly status: number;
  readonly body: unknown;
}

export type RequestFailure = 'not-connected' | 'no-answer' | 'too-late';

/** Errors of a failed connect: the server has received nothing. */
const notConnected = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH/;

function reasonOf(error: unknown): RequestFailure {
  const cause = error instanceof Error && error.cause ? error.cause : error;
  return notConnected.test(String(cause)) ? 'not-connected' : 'no-answer';
}

async function fetchAnswer({ url, headers, body }: ServerRequest): Promise<BotResponse> {
  const response = await fetch(url, { headers, ...(body !== undefined && { method: 'POST', body }) });
  return { status: response.status, body: await response.json() };
}

/** The only function with which a Bot calls its server. It never throws. */
async function call({ connections }: Client, request: ServerRequest): Promise<BotResponse | RequestFailure> {
  if (connections) {
    return connections.send(request, LIMIT);
  }
  const late = Promise.withResolvers<RequestFailure>();
  const timer = setTimeout(() => late.resolve('too-late'), LIMIT);
  const answer = fetchAnswer(request).catch(reasonOf);
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer));
}

/** Medplum refused a request or did not respond. */
export class MedplumError extends Error {
  /** Whether Medplum's rate limit is reached: each further request prolongs that. */
  readonly isLimited: boolean;

  constructor(message: string, isLimited = false) {
    super(message);
    this.isLimited = isLimited;
  }
}

/** Whether an error, or an error that it wraps, is Medplum's rate limit. */
export const isRateLimit = (error: unknown): boolean =>
  (error instanceof MedplumError && error.isLimited) ||
  (error instanceof AggregateError && error.errors.some(isRateLimit));

export const RATE_LIMIT = "Medplum's rate limit is reached. Send the request again in a minute.";

/** The diagnostics of a refusal by Medplum that may be temporary. */
export const diagnosticsFor = (status: number): string =>
  status === 429
    ? `${RATE_LIMIT} Nothing was written.`
    : `The FHIR server answered with status ${status}. Nothing was written; try again in a moment.`;

function failed(status: number): BundleResponse {
  const issue: Issue = { code: 'upstream-unavailable', diagnostics: diagnosticsFor(status) };
  return { kind: 'failed', issue, ...(status === 429 && { isLimited: true }) };
}

function lost(code: 'upstream-unavailable' | 'upstream-timeout', what: string): BundleResponse {
  const diagnostics = `${what} The booking may have been stored: send it again with the same Appointment.identifier to get the appointment.`;
  return { kind: 'lost', issue: { code, diagnostics } };
}

const unanswered: Readonly<Record<RequestFailure, BundleResponse>> = {
  'not-connected': {
    kind: 'failed',
    issue: { code: 'upstream-unavailable', diagnostics: 'The FHIR server cannot be reached.' },
  },
  'no-answer': lost('upstream-unavailable', 'The FHIR server gave an invalid response.'),
  'too-late': lost('upstream-timeout', 'The FHIR server did not answer in time.'),
};

/** Medplum refuses a transaction as a whole if a resource in it was deleted after it was read. */
const isAbsence = (status: number): boolean => status === 404 || status === 410;

/** The result of a batch or transaction. An unexpected status leaves open whether it was carried out: `lost`. */
function classify({ status, body }: BotResponse): BundleResponse {
  if (status === 200 && isResource(body, 'Bundle')) {
    return { kind: 'done', bundle: body };
  }
  if (status === 409 || status === 412 || (isAbsence(status) && isResource(body, 'OperationOutcome'))) {
    return { kind: 'overtaken' };
  }
  if (status === 400 && isResource(body, 'OperationOutcome') && saysOvertaken(body)) {
    return { kind: 'overtaken' };
  }
  if (status === 400 && isResource(body, 'OperationOutcome')) {
    return { kind: 'invalid', outcome: body };
  }
  if (status === 504) {
    return unanswered['too-late'];
  }
  const isRefusal = status >= 400 && status < 500;
  return isRefusal ? failed(status) : lost('upstream-unavailable', `The FHIR server answered with status ${status}.`);
}

const urlOf = ({ request }: BundleEntry): string => request?.url ?? '';

/** Medplum's maximum number of updates per transaction; patches do not count. */
const MAX_UPDATES = 50;

/** The elements that a change may remove from a Slot. */
const leaving = [
  'identifier',
  'extension',
  'serviceCategory',
  'serviceType',
  'specialty',
  'appointmentType',
  'comment',
] as const;

const isUpdate = ({ request }: BundleEntry): boolean => request?.method === 'PUT';

/** Converts an update of a Slot into an equivalent patch, on condition of the same version. */
function asPatch(entry: BundleEntry): BundleEntry {
  const { request, resource } = entry;
  const version = /^W\/"(.+)"$/.exec(request?.ifMatch ?? '')?.[1];
  if (!request || !isUpdate(entry) || !isResource(resource, 'Slot') || version === undefined) {
    return entry;
  }
  const { resourceType: _, id: __, ...elements } = resource;
  const patch = [
    { op: 'test', path: '/meta/versionId', value: version },
    ...Object.entries(elements).map(([name, value]) => ({ op: 'add', path: `/${name}`, value })),
    // A patch cannot remove a missing element: it is added first.
    ...leaving
      .filter((name) => resource[name] === undefined)
      .flatMap((name) => [
        { op: 'add', path: `/${name}`, value: [] },
        { op: 'remove', path: `/${name}` },
      ]),
  ];
  const data = Buffer.from(JSON.stringify(patch)).toString('base64');
  return {
    request: { method: 'PATCH', url: request.url },
    resource: { resourceType: 'Binary', contentType: 'application/json-patch+json', data },
  };
}

/**
 * Sorts the entries of a transaction into an order that all writers share: two transactions that change the same
 * resources in different orders would deadlock.
 * @returns the bundle to send, and a function that restores the given order in the response
 */
function inWriteOrder(bundle: Bundle) {
  const entries = bundle.entry ?? [];
  if (bundle.type !== 'transaction' || entries.every(({ request }) => request?.method === 'GET')) {
    return { sorted: bundle, restored: (answer: Bundle) => answer };
  }
  const isLarge = entries.filter(isUpdate).length > MAX_UPDATES;
  const order = entries
    .map((entry, index) => ({ entry: isLarge ? asPatch(entry) : entry, index }))
    .sort((one, other) => (urlOf(one.entry) < urlOf(other.entry) ? -1 : urlOf(one.entry) > urlOf(other.entry) ? 1 : 0));
  const restored = (answer: Bundle): Bundle => {
    const found = answer.entry ?? [];
    const entry = [...found];
    for (const [position, { index }] of order.entries()) {
      const restoredEntry = found[position];
      if (restoredEntry && found.length === entries.length) {
        entry[index] = restoredEntry;
      }
    }
    return { ...answer, entry };
  };
  return { sorted: { ...bundle, entry: order.map(({ entry }) => entry) }, restored };
}

/**
 * Sends a batch or a transaction to the server that runs this Bot, without retries: a repeated transaction could book
 * twice. It never throws, and gives up after two fifths of `BookingConfig.timeout`.
 * @see https://hl7.org/fhir/R4/http.html#transaction
 */
export async function sendBundle(
  medplum: MedplumClient,
  bundle: Bundle,
  options: RequestOptions = {},
): Promise<BundleResponse> {
  const [url, headers] = [medplum.fhirUrl().toString(), headersFor(medplum, options)];
  const { sorted, restored } = inWriteOrder(bundle);
  const response = await call(medplum, { url, headers, body: JSON.stringify(sorted) });
  const read = typeof response === 'string' ? unanswered[response] : classify(response);
  return read.kind === 'done' ? { ...read, bundle: restored(read.bundle) } : read;
}

/** Writes entries in one transaction with the Bot's own rights, as `sendBundle` does. */
export const sendTransaction = (medplum: MedplumClient, entry: BundleEntry[]): Promise<BundleResponse> =>
  sendBundle(medplum, { resourceType: 'Bundle', type: 'transaction', entry });

/**
 * Writes entries in one transaction, unless a concurrent change comes first.
 * @param what - names the entries in error messages
 * @returns the response; `undefined` if a concurrent change came first, and nothing was written
 */
export async function writeUnlessOvertaken(
  medplum: MedplumClient,
  entry: BundleEntry[],
  what: string,
): Promise<Bundle | undefined> {
  const answer = await sendTransaction(medplum, entry);
  if (answer.kind !== 'done' && answer.kind !== 'overtaken') {
    const isLimited = answer.kind === 'failed' && answer.isLimited === true;
    throw new MedplumError(
      `${what} could not be written (${answer.kind}).${isLimited ? ` ${RATE_LIMIT}` : ''}`,
      isLimited,
    );
  }
  return answer.kind === 'done' ? answer.bundle : undefined;
}

/**
 * Sends a request that cannot be part of a batch. It never throws, and gives up after two fifths of
 * `BookingConfig.timeout`.
 * @param path - relative to the base address of the server, for example `auth/me`
 * @returns status and body; `undefined` if there is no readable response
 */
export async function get(
  medplum: MedplumClient,
  path: string,
  options: RequestOptions,
): Promise<BotResponse | undefined> {
  const url = new URL(path, medplum.getBaseUrl()).toString();
  const response = await call(medplum, { url, headers: headersFor(medplum, options) });
  return typeof response === 'string' ? undefined : response;
}

/**
 * Sends JSON to a non-FHIR path of the server. It never throws, and has the time limit of `get`.
 * @returns status and body, or the reason why there is no response
 */
export const post = (medplum: MedplumClient, path: string, body: object): Promise<BotResponse | RequestFailure> =>
  call(medplum, {
    url: new URL(path, medplum.getBaseUrl()).toString(),
    headers: { ...headersFor(medplum, {}), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** The longest pause, in milliseconds: an attempt that timed out does not show how busy the server is. */
const MAX_PAUSE = 2_000;

/**
 * Waits for a random time before the next attempt, at most as long as the last attempt took. Competing requests thus
 * spread out, and wait longer the busier the server is.
 * @param attempt - length of the attempt, in milliseconds
 */
export async function backOff(attempt: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(attempt, MAX_PAUSE)));
}

/** Default maximum number of attempts that other requests overtake. */
export const MAX_ATTEMPTS = 20;

interface Attempts {
  readonly most?: number;
  /** No further attempt starts after this many milliseconds. */
  readonly within?: number;
}

/** Limits of attempts to change a Subscription. */
export const contestedAttempts: Attempts = { most: 50, within: 6_000 };

/**
 * Runs an operation that reads, decides and writes, and repeats it after a conflict with a concurrent change.
 * @param isOvertaken - whether the result calls for another attempt
 * @returns the result of the last attempt, which may still be overtaken
 */
export async function retryOvertaken<T>(
  act: () => Promise<T>,
  isOvertaken: (result: T) => boolean,
  { most = MAX_ATTEMPTS, within = Number.POSITIVE_INFINITY }: Attempts = {},
): Promise<T> {
  const end = Date.now() + within;
  for (let count = 1; ; count++) {
    const start = Date.now();
    const result = await act();
    if (!isOvertaken(result) || count >= most || Date.now() > end) {
      return result;
    }
    await backOff(Date.now() - start);
  }
}

/**
 * Reads, decides and writes until no other request is faster.
 * @param attempt - one attempt; `unchanged` if there is nothing to write
 * @param what - names the result in error messages
 * @throws Error when it could not be written, or other requests were faster at each attempt
 */
export async function writeInTheEnd(
  attempt: () => Promise<BundleResponse['kind'] | 'unchanged'>,
  what: string,
): Promise<void> {
  const result = await retryOvertaken(attempt, (kind) => kind === 'overtaken');
  if (result === 'overtaken') {
    throw new Error(`${what} could not be written: other requests were faster at each attempt.`);
  }
  if (result !== 'unchanged' && result !== 'done') {
    throw new Error(`${what} could not be written (${result}).`);
  }
}

/** A fresh `urn:uuid:` for a resource that a transaction creates. */
export const newId = (): string => `urn:uuid:${randomUUID()}`;
