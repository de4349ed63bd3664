import { createRequire } from 'node:module';
import vm from 'node:vm';
import type { Appointment, Bundle, BundleEntry, OperationOutcome, Patient, Resource } from '@medplum/fhirtypes';
import { isObject, isResource } from '../../fhir/resource.ts';

/** What a Bot finds on the server, and what it writes there. */
export interface FakeServer {
  readonly appointment: Appointment;
  readonly patients: readonly Patient[];
  readonly written: Resource[];
}

const notFound: BundleEntry = { response: { status: '404' } };
const searchset = (resources: readonly Resource[]): BundleEntry => ({
  response: { status: '200' },
  resource: { resourceType: 'Bundle', type: 'searchset', entry: resources.map((resource) => ({ resource })) },
});

function answer({ appointment, patients, written }: FakeServer, { request, resource }: BundleEntry): BundleEntry {
  const url = request?.url ?? '';
  if (request?.method === 'PUT' && resource) {
    written.push(resource);
    return { response: { status: '200' }, resource };
  }
  if (url === `Appointment/${appointment.id}`) {
    return { response: { status: '200' }, resource: appointment };
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
const clientOf = ({ appointment }: FakeServer) => ({
  getAccessToken: () => 'token',
  fhirUrl: () => 'http://localhost/fhir/R4',
  searchResources: async () => [appointment],
});

/** Compiles the bundle of a Bot once. */
export function compile(code: string): vm.Script {
  return new vm.Script(
    `const exports = {}; const module = { exports };\n${code}\n(async () => exports.handler(medplum, event))();`,
  );
}

/** What a Bot has answered: its value, as JSON would carry it. */
export type BotAnswer = true | Appointment | OperationOutcome;

function isAnswer(value: unknown): value is BotAnswer {
  return value === true || isResource(value, 'Appointment') || isResource(value, 'OperationOutcome');
}

/**
 * Runs a Bot the way Medplum does: in a context with few globals, with a call appended to it.
 *
 * @param event - input, headers, and who calls
 */
export async function run(script: vm.Script, event: object, server: FakeServer): Promise<BotAnswer> {
  const context = {
    medplum: clientOf(server),
    event,
    fetch: fetchOf(server),
    require: createRequire(import.meta.url),
    console,
    process,
    URL,
    URLSearchParams,
    TextDecoder,
    TextEncoder,
  };
  const value: unknown = JSON.parse(JSON.stringify(await script.runInNewContext(context, { timeout: 5_000 })));
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
