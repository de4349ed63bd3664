import { type Sandbox, type SandboxOptions, startSandbox } from '@appointment-booking/sandbox';
import { afterAll, beforeAll } from '@jest/globals';
import type { Bundle, OperationOutcome, Resource } from '@medplum/fhirtypes';

/** What the sandbox answered; `body` is of the type that the test expects. */
interface Answer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

/** The Bundle that a transaction is answered with, or the OperationOutcome. */
interface TransactionAnswer extends Pick<OperationOutcome, 'id' | 'issue'> {
  readonly entry?: Bundle['entry'];
}

/** Requests to one sandbox, by default as its administrator. */
export interface Client {
  readonly sandbox: Sandbox;
  /** Any path below the base address. */
  send<T = OperationOutcome>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer<T>>;
  /** A path below `fhir/R4/`. */
  fhir<T = OperationOutcome>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer<T>>;
  /** Creates a resource and returns it as it was stored. */
  create<T extends Resource>(resource: T): Promise<T & { id: string; meta: { versionId: string } }>;
  transaction(entry: NonNullable<Bundle['entry']>, token?: string): Promise<Answer<TransactionAnswer>>;
  /** Makes a Bot with a membership and code; returns its id. */
  bot(code: string, fields?: Record<string, unknown>): Promise<string>;
}

/** Makes the requests of a test to a sandbox that runs. */
export function clientOf(sandbox: Sandbox): Client {
  async function send<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(sandbox.baseUrl + path, {
      method,
      headers: { authorization: 'Bearer admin', 'content-type': 'application/fhir+json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') && text;
    const parsed: T = isJson ? JSON.parse(text) : text;
    return { status: response.status, headers: response.headers, body: parsed };
  }
  const fhir: Client['fhir'] = (method, path, body, headers) => send(method, `fhir/R4/${path}`, body, headers);

  return {
    sandbox,
    send,
    fhir,
    async create<T extends Resource>(resource: T) {
      const response = await fhir<T & { id: string; meta: { versionId: string } }>(
        'POST',
        resource.resourceType,
        resource,
      );
      if (response.status !== 201) {
        throw new Error(`Not created: ${response.status} ${JSON.stringify(response.body)}`);
      }
      return response.body;
    },
    transaction: (entry, token = 'admin') =>
      fhir('POST', '', { resourceType: 'Bundle', type: 'transaction', entry }, { authorization: `Bearer ${token}` }),
    async bot(code, fields = {}) {
      const path = `admin/projects/${sandbox.projectId}/bot`;
      const { body } = await send<{ id: string }>('POST', path, { name: 'test', runtimeVersion: 'vmcontext' });
      await fhir('POST', `Bot/${body.id}/$deploy`, { code });
      const deployed = await fhir<object>('GET', `Bot/${body.id}`);
      await fhir('PUT', `Bot/${body.id}`, { ...deployed.body, ...fields });
      return body.id;
    },
  };
}

/** Starts a sandbox before the tests of a file and closes it after them. */
export function withSandbox(options: SandboxOptions = {}): () => Client {
  let client: Client;
  beforeAll(async () => {
    client = clientOf(await startSandbox(options));
  });
  afterAll(() => client.sandbox.close());
  return () => client;
}
