import vm from 'node:vm';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Basic, OperationDefinition, OperationOutcome, Patient } from '@medplum/fhirtypes';
import { withSandbox } from './start.ts';

const client = withSandbox();
const json = { 'content-type': 'application/json' };
const code = `exports.handler = async (medplum, event) => {
  const { run } = event.input;
  return new Function('medplum', 'event', 'global', 'return (async () => {' + run + '})()')(medplum, event, globalThis);
};`;
let echo: string;

beforeAll(async () => {
  echo = await client().bot(code, { identifier: [{ system: 'urn:bot', value: 'echo' }] });
});

function run<T = OperationOutcome>(body: string, id = echo) {
  return client().fhir<T>('POST', `Bot/${id}/$execute`, { run: body }, json);
}

describe('the context of a Bot', () => {
  test('has Medplum’s globals and no others', async () => {
    const plain = vm.runInNewContext('Object.getOwnPropertyNames(globalThis)');
    const { body } = await run<string[]>('return Object.getOwnPropertyNames(global)');
    expect(body.filter((name) => !plain.includes(name)).sort()).toEqual(
      [
        'ContentType',
        'Hl7Message',
        'MedplumClient',
        'TextDecoder',
        'TextEncoder',
        'URL',
        'URLSearchParams',
        'event',
        'fetch',
        'process',
        'require',
      ].sort(),
    );
  });

  test.each([['setTimeout'], ['Buffer'], ['crypto'], ['structuredClone'], ['AbortSignal'], ['btoa'], ['performance']])(
    'has no %s',
    async (name) => {
      expect((await run<string[]>(`return [typeof ${name}]`)).body).toEqual(['undefined']);
    },
  );

  test('has a console with log only', async () => {
    expect((await run('console.log("a", 1)')).status).toBe(200);
    expect((await run('console.error("a")')).body.issue[0]?.details?.text).toBe('console.error is not a function');
  });

  test('passes bot, requester, input, content type, secrets, trace id and headers', async () => {
    const { body } = await run<Record<string, unknown>>('return { ...event, headers: event.headers.authorization }');
    expect(body).toMatchObject({
      bot: { reference: `Bot/${echo}` },
      requester: { reference: `ClientApplication/${client().sandbox.clientId}` },
      contentType: 'application/json',
      secrets: {},
      headers: 'Bearer admin',
      traceId: expect.any(String),
    });
  });
});

describe('the answer to $execute', () => {
  test.each([
    ['return { a: 1 }', 200, { a: 1 }],
    ['return [1]', 200, [1]],
    ['return true', 200, true],
    ['return 42', 200, 42],
    ['return null', 200, ''],
    ['throw new Error("boom")', 400, { issue: [{ details: { text: 'boom' } }] }],
    ['return undefined', 200, { id: 'ok' }],
    ['return { resourceType: "Patient", id: "x" }', 200, { resourceType: 'Patient' }],
  ])('%s is %i', async (body, status, expected) => {
    const answer = await run<unknown>(body);
    expect(answer.status).toBe(status);
    expect({ body: answer.body }).toMatchObject({ body: expected });
  });

  test.each([
    ['conflict', 409],
    ['not-found', 404],
    ['business-rule', 422],
    ['precondition-failed', 412],
    ['forbidden', 403],
    ['server-timeout', 504],
    ['service-unavailable', 400],
  ])('an OperationOutcome with the id %s is %i', async (id, status) => {
    const outcome = { resourceType: 'OperationOutcome', id, issue: [{ severity: 'error', code: 'conflict' }] };
    const { status: answered, body } = await run(`return ${JSON.stringify(outcome)}`);
    expect([answered, body.id]).toEqual([status, id]);
  });

  test('names the Bot by identifier, and is 404 for one that the caller cannot find', async () => {
    const execute = (query: string) => client().fhir('POST', `Bot/$execute${query}`, { run: 'return 1' }, json);
    expect((await execute('?identifier=urn:bot|echo')).status).toBe(200);
    expect((await execute('?identifier=urn:bot|nobody')).status).toBe(404);
    expect((await execute('')).status).toBe(400);
  });
});

describe('a Bot acts', () => {
  const create = 'return (await medplum.createResource({ resourceType: "Basic", code: { text: "x" } })).meta.author';

  test('as itself', async () => {
    expect((await run<Basic>(create)).body).toMatchObject({ reference: `Bot/${echo}` });
  });

  test('as its caller with runAsUser', async () => {
    const id = await client().bot(code, { runAsUser: true });
    const { body } = await run(create, id);
    expect(body).toMatchObject({ reference: `ClientApplication/${client().sandbox.clientId}` });
  });

  test('within Bot.timeout while it computes', async () => {
    const id = await client().bot('exports.handler = async () => { for (;;); };', { timeout: 1 });
    const { status, body } = await run('', id);
    expect([status, body.issue[0]?.details?.text]).toEqual([400, 'Script execution timed out after 1000ms']);
  });
});

test('code that is not JavaScript is 400 when it runs', async () => {
  expect((await run('', await client().bot('this is not javascript'))).status).toBe(400);
});

describe('a custom operation', () => {
  const implementation = 'https://medplum.com/fhir/StructureDefinition/operationDefinition-implementation';

  beforeAll(async () => {
    await client().create<OperationDefinition>({
      resourceType: 'OperationDefinition',
      name: 'Adopt',
      code: 'adopt',
      kind: 'operation',
      status: 'active',
      system: false,
      type: true,
      instance: false,
      parameter: [{ name: 'return', use: 'out', type: 'Patient', min: 1, max: '1' }],
      extension: [{ url: implementation, valueReference: { reference: `Bot/${echo}` } }],
    });
  });

  test('answers 200 with the resource that the Bot returns', async () => {
    const run = 'return { resourceType: "Patient", id: "x" }';
    const { status, body } = await client().fhir<Patient>('POST', 'Patient/$adopt', { run });
    expect([status, body.resourceType]).toEqual([200, 'Patient']);
  });

  test.each([
    ['an OperationOutcome', 'return { resourceType: "OperationOutcome", id: "conflict", issue: [] }'],
    ['an error', 'throw new Error("boom")'],
    ['another type', 'return { resourceType: "Basic", code: {} }'],
  ])('answers 400 for %s', async (_, run) => {
    expect((await client().fhir('POST', 'Patient/$adopt', { run })).status).toBe(400);
  });

  test('is 404 if it is not defined', async () => {
    expect((await client().fhir('POST', 'Patient/$unheard-of', {})).status).toBe(404);
  });
});
