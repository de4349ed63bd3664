import { createRequire } from 'node:module';
import vm from 'node:vm';
import type { Appointment, Bundle, BundleEntry, OperationOutcome, Patient, Resource } from '@medplum/fhirtypes';
import { isObject, isResource } from '../../core/fhir/resource.ts';
import { scaled } from '../lib/time-scale.ts';

/** What a Bot finds on the server, and what it writes there. */
export interface FakeServer {
  readonly appointment: Appointment;
  readonly patients: readonly Patient[];
  readonly written: Resource[];
  /** The batches and transactions that the Bot has sent. */
  readonly asked?: unknown[];
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
    [`Appointment/${appointment.id}`]: { response: { status: '200' }, resource: appointment },
    [`Appointment/${appointment.id}/_history`]: { response: { status: '200' }, resource: history },
  };
  return unfound && answers[url];
}

function answer(server: FakeServer, { request, resource }: BundleEntry): BundleEntry {
  const { appointment, patients, written } = server;
  const url = request?.url ?? '';
  if (request?.method === 'PUT' && resource) {
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
  if (url.startsWith('Patient?')) {
    const ids = new URLSearchParams(url.split('?')[1]).get('_id')?.split(',') ?? [];
    return searchset(patients.filter(({ id }) => ids.includes(id ?? '')));
  }
  return url.includes('?') ? searchset([]) : notFound;
}

/** The `fetch` of the VM context: answers batches and transactions as the server would. */
const fetchOf =
  (server: FakeServer) =>
  async (_url: string, { body }: { body: string }) => {
    const sent: unknown = JSON.parse(body);
    server.asked?.push(sent);
    const entries = isResource(sent, 'Bundle') ? (sent.entry ?? []) : [];
    const bundle: Bundle = {
      resourceType: 'Bundle',
      type: 'batch-response',
      entry: entries.map((one) => answer(server, one)),
    };
    const text = JSON.stringify(bundle);
    return { status: 200, json: async () => JSON.parse(text) };
  };

/** The same function as one of Node.js itself, not of the tests: by it a Bot reaches the globals of the server. */
const ofNode: (call: ReturnType<typeof fetchOf>) => ReturnType<typeof fetchOf> = vm.runInThisContext(
  '(call) => (...parameters) => call(...parameters)',
);

/** The client that Medplum hands to a Bot, as far as these Bots use it. */
const clientOf = ({ appointment }: FakeServer) => ({
  getAccessToken: () => 'token',
  fhirUrl: () => 'http://localhost/fhir/R4',
  searchResources: async () => [appointment],
});

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

const common = { console, URL, URLSearchParams, TextEncoder } as const;

/** What a VM context has besides: before 5.1 its `require` only throws, and the handler is not told who calls. */
const contexts = {
  '5.1': (event: Call) => ({
    ...common,
    process,
    TextDecoder,
    require: createRequire(import.meta.url),
    event,
    told: event,
  }),
  '5.0': (event: Call) => ({
    ...common,
    require: (name: string): never => {
      throw new Error(`Dynamic require of "${name}" is not supported`);
    },
    event,
    told: { ...event, requester: undefined },
  }),
} as const;

/**
 * Runs a Bot the way Medplum does: in a context with few globals, with a call appended to it.
 *
 * @param event - input, headers, and who calls
 * @param version - of Medplum
 */
export async function run(
  script: vm.Script,
  event: Call,
  server: FakeServer,
  version: keyof typeof contexts = '5.1',
): Promise<BotAnswer> {
  const context = { ...contexts[version](event), medplum: clientOf(server), fetch: ofNode(fetchOf(server)) };
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
