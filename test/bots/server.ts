import { createRequire } from 'node:module';
import vm from 'node:vm';
import type { Appointment, Bundle, BundleEntry, OperationOutcome, Patient, Resource, Slot } from '@medplum/fhirtypes';
import { isObject, isResource } from '../../core/fhir/resource.ts';
import { scaled } from '../lib/time-scale.ts';

/** What a Bot finds on the server, and what it writes there. */
export interface FakeServer {
  readonly appointment: Appointment;
  readonly patients: readonly Patient[];
  readonly written: Resource[];
  /** The AccessPolicy of the caller; without one the caller may do everything, as clinic staff. */
  readonly accessPolicy?: object;
  /** The slots that there are; without them each was deleted. */
  readonly slots?: readonly Slot[];
  /** What searches for slots include, and reads by id find. */
  readonly others?: readonly Resource[];
  /** When searches do not find the appointment: whether it was deleted, or the database that is searched is behind. */
  readonly unfound?: 'deleted' | 'behind';
}

const notFound: BundleEntry = { response: { status: '404' } };
const searchset = (resources: readonly Resource[]): BundleEntry => ({
  response: { status: '200' },
  resource: { resourceType: 'Bundle', type: 'searchset', entry: resources.map((resource) => ({ resource })) },
});

/** What a server answers whose cache still has, or already has, what its searches do not find. */
function unfoundAnswer({ appointment, unfound }: FakeServer, url: string): BundleEntry | undefined {
  const latest: BundleEntry = unfound === 'deleted' ? { response: { status: '410' } } : { resource: appointment };
  const history: Bundle = { resourceType: 'Bundle', type: 'history', entry: [latest, { resource: appointment }] };
  const answers: Readonly<Record<string, BundleEntry>> = {
    [`Appointment?_id=${appointment.id}`]: searchset([]),
    [`Patient?_has:Appointment:patient:_id=${appointment.id}&_count=1000`]: searchset([]),
    [`Appointment/${appointment.id}`]: { response: { status: '200' }, resource: appointment },
    [`Appointment/${appointment.id}/_history?_count=2`]: { response: { status: '200' }, resource: history },
  };
  return unfound && answers[url];
}

function answer(server: FakeServer, { request, resource }: BundleEntry): BundleEntry {
  const { appointment, patients, written } = server;
  const url = request?.url ?? '';
  if ((request?.method === 'PUT' || request?.method === 'POST') && resource) {
    written.push(resource);
    return { response: { status: '200' }, resource };
  }
  const unfound = unfoundAnswer(server, url);
  if (unfound) {
    return unfound;
  }
  if (url === `Appointment?_id=${appointment.id}`) {
    return searchset([appointment]);
  }
  if (url.startsWith('Slot?')) {
    return searchset([...(server.slots ?? []), ...(server.others ?? [])]);
  }
  if (url.startsWith('Patient?')) {
    const ids = new URLSearchParams(url.split('?')[1]).get('_id')?.split(',');
    return searchset(patients.filter(({ id }) => !ids || ids.includes(id ?? '')));
  }
  const [type, query] = url.split('?');
  if (query?.startsWith('_id=')) {
    const ids = new URLSearchParams(query).get('_id')?.split(',');
    return searchset((server.others ?? []).filter((one) => one.resourceType === type && ids?.includes(one.id ?? '')));
  }
  const read = server.others?.find(({ resourceType, id }) => url === `${resourceType}/${id}`);
  return read ? { response: { status: '200' }, resource: read } : url.includes('?') ? searchset([]) : notFound;
}

/** The `fetch` of the VM context: answers batches and transactions as the server would. */
const fetchOf =
  (server: FakeServer) =>
  async (url: string, { body = 'null' }: { body?: string }) => {
    if (url.endsWith('/auth/me')) {
      const me = { profile: {}, accessPolicy: server.accessPolicy };
      return { status: 200, json: async () => JSON.parse(JSON.stringify(me)) };
    }
    const sent: unknown = JSON.parse(body);
    const entries = isResource(sent, 'Bundle') ? (sent.entry ?? []) : [];
    const bundle: Bundle = {
      resourceType: 'Bundle',
      type: 'batch-response',
      entry: entries.map((one) => answer(server, one)),
    };
    const text = JSON.stringify(bundle);
    return { status: 200, json: async () => JSON.parse(text) };
  };

/** The client that Medplum hands to a Bot, as far as these Bots use it. */
const medplum = {
  getAccessToken: () => 'token',
  getBaseUrl: () => 'http://localhost/',
  fhirUrl: () => 'http://localhost/fhir/R4',
} as const;

/** Compiles the bundle of a Bot once. */
export function compile(code: string): vm.Script {
  return new vm.Script(
    `const exports = {}; const module = { exports };\n${code}\n(async () => exports.handler(medplum, told))();`,
  );
}

/** What a Bot has answered: its value, as JSON would carry it. */
export type BotAnswer = true | Appointment | OperationOutcome;

function isAnswer(value: unknown): value is BotAnswer {
  return value === true || isResource(value, 'Appointment') || isResource(value, 'OperationOutcome');
}

/** As Medplum does, takes an OperationOutcome that was thrown for the answer. */
function refusal(thrown: unknown): OperationOutcome {
  if (isObject(thrown) && isResource(thrown, 'OperationOutcome')) {
    return thrown;
  }
  throw thrown;
}

/** What a Bot is called with, as far as it matters here. */
interface Call {
  readonly input: unknown;
  readonly requester?: { readonly reference: string };
  readonly headers?: object;
}

/**
 * Runs a Bot the way Medplum does: in a context with few globals, with a call appended to it.
 *
 * @param event - input, headers, and who calls
 */
export async function run(script: vm.Script, event: Call, server: FakeServer): Promise<BotAnswer> {
  const require = createRequire(import.meta.url);
  const globals = { console, URL, URLSearchParams, TextEncoder, TextDecoder, process, require };
  const context = { ...globals, event, told: event, medplum, fetch: fetchOf(server) };
  const answer: unknown = await script.runInNewContext(context, { timeout: scaled(5_000) }).catch(refusal);
  const value: unknown = JSON.parse(JSON.stringify(answer));
  if (!isAnswer(value)) {
    throw new Error(`The Bot answered something else: ${JSON.stringify(value)}`);
  }
  return value;
}

/** The issues of an answer: `code expression`. */
export function issuesOf(given: BotAnswer): string[] {
  return isObject(given) && isResource(given, 'OperationOutcome')
    ? given.issue.map(({ details, expression }) => [details?.coding?.[0]?.code, ...(expression ?? [])].join(' '))
    : [];
}
