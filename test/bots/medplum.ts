import { startSandbox } from '@appointment-booking/sandbox';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { MedplumClient } from '@medplum/core';
import type { AccessPolicy, Bundle, ClientApplication, Resource, ResourceType } from '@medplum/fhirtypes';
import type { BotResponse, Connections, RequestFailure, ServerRequest } from '../../bots/lib/medplum.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { type Client, clientOf } from '../../packages/sandbox/test/start.ts';

/** A request of a Bot: what it asks for, entry by entry (`GET Slot?status=free`), or its path. */
export interface Asked {
  readonly type: 'batch' | 'transaction' | 'read';
  readonly entries: readonly string[];
  readonly authorization: string;
  readonly bundle: Bundle | undefined;
}

/**
 * What becomes of a request of a Bot: an answer in the place of Medplum's, or no answer; `undefined` lets it pass. It may
 * change what is stored first, as others do meanwhile.
 */
export type Interference = (
  asked: Asked,
) => BotResponse | RequestFailure | undefined | Promise<BotResponse | RequestFailure | undefined>;

/** The stand-in of Medplum, in which nothing is deployed: Bots run only when a test calls them. */
export interface BotServer extends Client {
  /** What a Bot is given: the administrator's rights, and connections that can be interfered with. */
  readonly medplum: MedplumClient & { readonly connections: Connections };
  /** Lets each following request of this test pass through a function first. */
  interfere(interference: Interference): void;
  /** What a search finds. */
  find<T extends Resource>(query: string): Promise<T[]>;
  /** All resources of these types. */
  all(types: readonly ResourceType[]): Promise<Resource[]>;
  /** Deletes all resources of these types, so that no test sees those of the one before. */
  clear(types: readonly ResourceType[]): Promise<void>;
  /** A resource by `Type/id`; `undefined` if there is none. */
  read<T extends Resource>(reference: string): Promise<T | undefined>;
  /** Stores another version of a resource; what changes is given. */
  change<T extends Resource>(resource: T, changes: Partial<T>): Promise<T>;
  /** Adds a client of the project, by default one that may read everything, with its credentials as a header. */
  addClient(
    name: string,
    resource?: AccessPolicy['resource'],
  ): Promise<{ readonly id: string; readonly authorization: string }>;
}

/** Everything may be read. */
const READER: AccessPolicy['resource'] = [{ resourceType: '*', interaction: ['read', 'search', 'history'] }];

function askedOf({ url, headers, body }: ServerRequest): Asked {
  const authorization = headers.authorization ?? '';
  const sent: unknown = body === undefined ? undefined : JSON.parse(body);
  if (!isResource(sent, 'Bundle')) {
    return { type: 'read', entries: [new URL(url).pathname], authorization, bundle: undefined };
  }
  const entries = (sent.entry ?? []).map(({ request }) => `${request?.method} ${request?.url}`);
  return { type: sent.type === 'batch' ? 'batch' : 'transaction', entries, authorization, bundle: sent };
}

async function pass({ url, headers, body }: ServerRequest): Promise<BotResponse> {
  const response = await fetch(url, { headers, ...(body !== undefined && { method: 'POST', body }) });
  return { status: response.status, body: await response.json() };
}

/** Starts a stand-in of Medplum before the tests of a file, for Bots that these call, and closes it after them. */
export function withMedplum(): () => BotServer {
  let server: BotServer;
  let interference: Interference = () => undefined;
  afterEach(() => {
    interference = () => undefined;
  });
  beforeAll(async () => {
    const client = clientOf(await startSandbox());
    const { baseUrl, projectId } = client.sandbox;
    const send: Connections['send'] = async (request) => (await interference(askedOf(request))) ?? pass(request);
    const medplum = {
      getAccessToken: () => 'admin',
      getBaseUrl: () => baseUrl,
      fhirUrl: (...path: readonly string[]) => new URL(['fhir/R4', ...path].join('/'), baseUrl),
      connections: { send },
    };
    const batch = async (type: 'batch' | 'transaction', entry: Bundle['entry']): Promise<Resource[]> => {
      const sent = { resourceType: 'Bundle', type, entry };
      const { body } = await client.fhir<Bundle>('POST', '', sent, { 'x-medplum': 'extended' });
      return (body.entry ?? []).flatMap(({ resource }) => resource ?? []);
    };
    const all = async (types: readonly ResourceType[]): Promise<Resource[]> => {
      const entry = types.map((type) => ({ request: { method: 'GET' as const, url: `${type}?_count=1000` } }));
      return (await batch('batch', entry)).flatMap((one) =>
        one.resourceType === 'Bundle' ? (one.entry ?? []).flatMap(({ resource }) => resource ?? []) : [],
      );
    };
    server = {
      ...client,
      all,
      async clear(types) {
        const entry = (await all(types)).map(({ resourceType, id }) => ({
          request: { method: 'DELETE' as const, url: `${resourceType}/${id}` },
        }));
        await batch('transaction', entry);
      },
      medplum: medplum as unknown as BotServer['medplum'],
      interfere(next) {
        interference = next;
      },
      async find<T extends Resource>(query: string) {
        const { body } = await client.fhir<Bundle<T>>('GET', query, undefined, { 'x-medplum': 'extended' });
        return (body.entry ?? []).flatMap(({ resource }) => resource ?? []);
      },
      async read<T extends Resource>(reference: string) {
        const { status, body } = await client.fhir<T>('GET', reference, undefined, { 'x-medplum': 'extended' });
        return status === 200 ? body : undefined;
      },
      async change<T extends Resource>(resource: T, changes: Partial<T>) {
        const path = `${resource.resourceType}/${resource.id}`;
        const { status, body } = await client.fhir<T>('PUT', path, { ...resource, ...changes });
        if (status !== 200) {
          throw new Error(`Not changed: ${status} ${JSON.stringify(body)}`);
        }
        return body;
      },
      async addClient(name, resource = READER) {
        const policy = await client.create<AccessPolicy>({ resourceType: 'AccessPolicy', name, resource });
        const { body } = await client.send<ClientApplication>('POST', `admin/projects/${projectId}/client`, {
          name,
          accessPolicy: { reference: `AccessPolicy/${policy.id}` },
        });
        const credentials = Buffer.from(`${body.id}:${body.secret}`).toString('base64');
        return { id: body.id ?? '', authorization: `Basic ${credentials}` };
      },
    };
  });
  afterAll(() => server.sandbox.close());
  return () => server;
}
