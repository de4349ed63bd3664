import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Bundle, Extension, Subscription, Task } from '@medplum/fhirtypes';
import { until } from '../../../test/lib/until.ts';
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

beforeAll(async () => {
  listener = createServer(async (request, response) => {
    const chunks: Buffer[] = await request.toArray();
    calls.push({ headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) });
    response.writeHead((await answers.shift()) ?? 200).end();
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
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

test('a Bot that has thrown is not run again, as by Medplum 5.1', async () => {
  const bot = await client().bot(`exports.handler = async (medplum, { input }) => {
    const identifier = [{ system: 'urn:task', value: input.id }];
    await medplum.createResource({ resourceType: 'Communication', status: 'completed', identifier });
    throw new Error('failed');
  };`);
  await subscribe('bot-fails', `Bot/${bot}`);
  await subscribe('bot-fails', hook());
  calls = [];
  answers = [500, 200];
  const { id } = await client().create(task('bot-fails'));
  // The address was tried a second time, so a retry of the Bot would have been due as well.
  await until(async () => calls.length === 2);
  expect((await client().fhir<Bundle>('GET', `Communication?identifier=urn:task|${id}`)).body.entry).toHaveLength(1);
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
