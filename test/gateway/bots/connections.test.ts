import { expect, test } from '@jest/globals';
import { createBotConnections } from '../../../gateway/bots/connections.ts';
import { createUpstream } from '../../../gateway/medplum/client.ts';
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
