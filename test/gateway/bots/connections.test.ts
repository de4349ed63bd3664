import { expect, test } from '@jest/globals';
import { createBotConnections } from '../../../gateway/bots/connections.ts';
import {
  createUpstream,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
} from '../../../gateway/medplum/client.ts';
import { startFakeMedplum } from '../fake-medplum.ts';

const limits = { connectTimeoutMs: 500, upstreamTimeoutMs: 1_000, responseBytes: 1_000, connections: 2 };

async function sent(baseUrl: string, limit = 1_000): Promise<unknown> {
  const upstream = createUpstream(baseUrl, limits);
  const { send } = createBotConnections(upstream, upstream.baseUrl, () => undefined);
  const answer = await send({ url: `${upstream.baseUrl}fhir/R4`, headers: {}, body: '{}' }, limit);
  await upstream.close();
  return answer;
}

test('a server that cannot be reached has done nothing', async () => {
  expect(await sent('http://127.0.0.1:1/')).toBe('not-connected');
});

test('a server that ends the connection may have done it', async () => {
  const fake = await startFakeMedplum();
  fake.answer = () => ({ body: 'half an answ', headers: { 'content-type': 'text/plain' } });
  expect(await sent(fake.url)).toBe('no-answer');
  await fake.close();
});

test('a server that takes too long may have done it', async () => {
  const fake = await startFakeMedplum();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  fake.answer = () => promise;
  expect(await sent(fake.url, 50)).toBe('too-late');
  resolve(undefined);
  await fake.close();
});

test('a request is a POST with a body, else a GET, with what follows the address of Medplum', async () => {
  const calls: UpstreamCall[] = [];
  const answer: UpstreamAnswer = { status: 404, headers: {}, body: { a: 1 } };
  const call: Upstream['call'] = async (asked) => {
    calls.push(asked);
    return answer;
  };
  const seen: unknown[] = [];
  const upstream = { call } as Partial<Upstream> as Upstream;
  const { send } = createBotConnections(upstream, 'http://medplum/x/', (...told) => seen.push(told));
  const headers = { authorization: 'Bearer a' };
  expect(await send({ url: 'http://medplum/x/fhir/R4/Slot?a=b', headers }, 7)).toBe(answer);
  await send({ url: 'http://medplum/x/fhir/R4', headers: {}, body: '' }, 8);
  await send({ url: 'http://medplum/x/', headers: {} }, 9);
  expect(calls).toEqual([
    { method: 'GET', path: 'fhir/R4/Slot', query: 'a=b', headers, timeoutMs: 7 },
    { method: 'POST', path: 'fhir/R4', headers: {}, timeoutMs: 8, body: '' },
    { method: 'GET', path: '', headers: {}, timeoutMs: 9 },
  ]);
  expect(seen).toEqual([
    [answer, 'Bearer a'],
    [answer, undefined],
    [answer, undefined],
  ]);
});

test('an answer that is missing is told to nobody', async () => {
  const seen: unknown[] = [];
  const upstream = { call: async () => ({ failure: 'broken' }) } as Partial<Upstream> as Upstream;
  const { send } = createBotConnections(upstream, 'http://medplum/', (...told) => seen.push(told));
  expect(await send({ url: 'http://medplum/fhir/R4', headers: {} }, 7)).toBe('no-answer');
  expect(seen).toEqual([]);
});
