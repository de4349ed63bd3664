import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Bundle, Communication, Extension, Subscription, Task } from '@medplum/fhirtypes';
import { retryDelay } from '../../packages/sandbox/jobs/queue.ts';
import { until } from '../lib/until.ts';
import { withSandbox } from './start.ts';

const client = withSandbox({ delayScale: 0.001 });
const medplum = 'https://medplum.com/fhir/StructureDefinition/';

interface Call {
  readonly headers: IncomingMessage['headers'];
  readonly body: Task;
}

let calls: Call[] = [];
let answers: (number | Promise<number>)[] = [];
let listener: Server;
let recorder: string;

beforeAll(async () => {
  listener = createServer(async (request, response) => {
    const chunks: Buffer[] = await request.toArray();
    calls.push({ headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) });
    response.writeHead((await answers.shift()) ?? 200).end();
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  recorder = await client().bot(`exports.handler = async (medplum, event) => {
    const resource = event.input.deletedResource ?? event.input;
    const text = JSON.stringify({ isDeletion: 'deletedResource' in event.input, ...event.headers, status: resource.status });
    await medplum.createResource({ resourceType: 'Communication', status: 'completed', note: [{ text }],
      identifier: [{ system: 'urn:task', value: resource.id }] });
    if (resource.description === 'fail') throw new Error('failed');
  };`);
});

afterAll(() => {
  listener.close();
});

function hook(): string {
  const { port }: AddressInfo = Object.assign({ port: 0, address: '', family: '' }, listener.address());
  return `http://127.0.0.1:${port}/`;
}

async function subscribe(code: string, endpoint: string, extension: Extension[] = []): Promise<Subscription> {
  return client().create<Subscription>({
    resourceType: 'Subscription',
    status: 'active',
    reason: 'test',
    criteria: `Task?code=${code}`,
    channel: { type: 'rest-hook', endpoint, header: ['X-Test: a:b'] },
    extension,
  });
}

function task(code: string, fields: Partial<Task> = {}): Task {
  return { resourceType: 'Task', status: 'requested', intent: 'order', code: { coding: [{ code }] }, ...fields };
}

async function recorded(id: string): Promise<Record<string, unknown>[]> {
  const query = `Communication?identifier=urn:task|${id}&_sort=_lastUpdated`;
  const { body } = await client().fhir<Bundle<Communication>>('GET', query);
  return (body.entry ?? []).map(({ resource }) => JSON.parse(resource?.note?.[0]?.text ?? '{}'));
}

describe('a Subscription to a Bot', () => {
  test('runs it for creation, update and deletion', async () => {
    await subscribe('all', `Bot/${recorder}`);
    const created = await client().create(task('all'));
    await until(async () => (await recorded(created.id)).length === 1);
    await client().fhir('PUT', `Task/${created.id}`, { ...created, status: 'accepted' });
    await until(async () => (await recorded(created.id)).length === 2);
    await client().fhir('DELETE', `Task/${created.id}`);
    const runs = await until(async () => {
      const found = await recorded(created.id);
      return found.length === 3 && found;
    });
    expect(runs.map((run) => run['X-Medplum-Interaction'])).toEqual(['create', 'update', 'delete']);
    expect(runs.map((run) => run.isDeletion)).toEqual([false, false, true]);
    expect(runs[2]).toMatchObject({ 'X-Medplum-Deleted-Resource': `Task/${created.id}`, 'X-Test': 'a' });
  });

  test('asks for the interaction and for the change from %previous to %current', async () => {
    await subscribe('done', `Bot/${recorder}`, [
      { url: `${medplum}subscription-supported-interaction`, valueCode: 'update' },
      {
        url: `${medplum}fhir-path-criteria-expression`,
        valueString: "%previous.status = 'requested' and %current.status = 'completed'",
      },
    ]);
    const created = await client().create(task('done'));
    for (const status of ['accepted', 'requested', 'completed'] as const) {
      await client().fhir('PUT', `Task/${created.id}`, { ...created, status });
    }
    await until(async () => (await recorded(created.id)).length > 0);
    expect((await recorded(created.id)).map(({ status }) => status)).toEqual(['completed']);
  });

  test('does not run a Bot again that has thrown, as Medplum 5.1', async () => {
    await subscribe('bot-fails', `Bot/${recorder}`);
    await subscribe('bot-fails', hook());
    calls = [];
    answers = [500, 200];
    const created = await client().create(task('bot-fails', { description: 'fail' }));
    // The address was tried a second time, so a retry of the Bot would have been due as well.
    await until(async () => calls.length === 2);
    expect(await recorded(created.id)).toHaveLength(1);
  });

  test('tells nothing of a transaction that was rolled back', async () => {
    await subscribe('rollback', hook());
    calls = [];
    answers = [];
    const { status } = await client().transaction([
      { request: { method: 'POST', url: 'Task' }, resource: task('rollback', { description: 'never' }) },
      { request: { method: 'PUT', url: 'Patient/unknown' }, resource: { resourceType: 'Patient', id: 'unknown' } },
    ]);
    expect(status).toBe(400);
    await client().create(task('rollback', { description: 'kept' }));
    await until(async () => calls.length > 0);
    expect(calls.map(({ body }) => body.description)).toEqual(['kept']);
  });
});

describe('a Subscription to an address', () => {
  test('tries again until it is heard', async () => {
    await subscribe('retry', hook());
    calls = [];
    answers = [500, 500, 200];
    const created = await client().create(task('retry'));
    await until(async () => calls.length === 3);
    expect(new Set(calls.map(({ body }) => body.id))).toEqual(new Set([created.id]));
    expect(calls[0]?.headers['x-medplum-interaction']).toBe('create');
  });

  test('gives up after subscription-max-attempts retries', async () => {
    const url = `${medplum}subscription-max-attempts`;
    await subscribe('give-up', hook(), [{ url, valueInteger: 1 }]);
    calls = [];
    answers = Array<number>(10).fill(500);
    await client().create(task('give-up', { description: 'first' }));
    await until(async () => calls.length === 2);
    await client().create(task('give-up', { description: 'second' }));
    await until(async () => calls.length === 4);
    expect(calls.map(({ body }) => body.description)).toEqual(['first', 'first', 'second', 'second']);
  });

  test('drops a retry once the resource has a newer version', async () => {
    await subscribe('stale', hook(), [{ url: `${medplum}subscription-supported-interaction`, valueCode: 'create' }]);
    const { promise: first, resolve: answerFirst } = Promise.withResolvers<number>();
    calls = [];
    answers = [first];
    const created = await client().create(task('stale'));
    await until(async () => calls.length === 1);
    await client().fhir('PUT', `Task/${created.id}`, { ...created, status: 'accepted' });
    answerFirst(500);
    // A job that fails later and is tried again shows that the time for the dropped retry has come.
    answers.push(500);
    const other = await client().create(task('stale'));
    await until(async () => calls.filter(({ body }) => body.id === other.id).length === 2);
    expect(calls.filter(({ body }) => body.id === created.id)).toHaveLength(1);
  });
});

test('retries are 20 s, 40 s, 80 s … 8 h apart, give or take a tenth', () => {
  expect([1, 2, 3, 20].map((attempt) => retryDelay(attempt, 0.5))).toEqual([20_000, 40_000, 80_000, 28_800_000]);
  expect([0, 1].map((random) => Math.round(retryDelay(1, random)))).toEqual([18_000, 22_000]);
});
