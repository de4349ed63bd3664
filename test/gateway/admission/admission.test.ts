import { connect } from 'node:net';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import type { GatewayLimits } from '../../../gateway/limits.ts';
import { until } from '../../lib/until.ts';
import { bearer, type FakeMedplum, fhirJson, gatewayTo, startFakeMedplum } from '../fake-medplum.ts';

let fake: FakeMedplum;
let gateway: FastifyInstance;

beforeEach(async () => {
  fake = await startFakeMedplum();
});
const start = (limits: Partial<GatewayLimits> = {}) => {
  gateway = gatewayTo(fake, limits, { trustProxy: 1 });
};
const refuseAll = () => {
  fake.verify = () => ({ status: 401 });
};
const read = (token: string, from = '192.0.2.1') =>
  gateway.inject({
    url: '/fhir/R4/Slot/s1',
    headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': from },
  });

describe('a token', () => {
  test('that Medplum refuses: 401 before a body is read', async () => {
    start();
    refuseAll();
    const { port } = new URL(await gateway.listen({ port: 0, host: '127.0.0.1' }));
    const client = connect(Number(port), '127.0.0.1');
    let answer = '';
    client
      .on('error', () => undefined)
      .on('data', (data) => {
        answer += data;
      });
    const headers = ['Host: x', 'Authorization: Bearer made-up', 'Content-Type: application/fhir+json'];
    client.write(`POST /fhir/R4/Patient HTTP/1.1\r\n${headers.join('\r\n')}\r\nContent-Length: 5000000\r\n\r\n{`);
    await until(() => answer.includes('\r\n\r\n'));
    expect(answer).toMatch(/^HTTP\/1.1 401 /);
    client.destroy();
  });

  test('is asked about once, good or bad, and once at a time', async () => {
    start();
    fake.verify = (authorization) =>
      authorization.endsWith('good')
        ? { body: { profile: { resourceType: 'ClientApplication', id: 'a' } } }
        : { status: 401 };
    const responses = await Promise.all(['good', 'good', 'bad', 'bad'].map((token) => read(token)));
    expect(responses.map(({ statusCode }) => statusCode)).toEqual([404, 404, 401, 401]);
    expect([...fake.verified].sort()).toEqual(['Bearer bad', 'Bearer good']);
  });

  test('is not refused when Medplum does not answer: 503', async () => {
    start();
    fake.verify = () => ({ status: 502 });
    expect((await read('good')).statusCode).toBe(503);
  });
});

describe('strangers', () => {
  test('are counted by their address, whatever tokens they make up; known clients there are served', async () => {
    start({ attemptsPerMinuteAndAddress: 3 });
    expect((await read('portal-a')).statusCode).toBe(404);
    refuseAll();
    const made = [await read('made-up-1'), await read('made-up-2'), await read('made-up-3')];
    expect(made.map(({ statusCode }) => statusCode)).toEqual([401, 401, 429]);
    expect(Number(made[2]?.headers['retry-after'])).toBeGreaterThan(0);
    expect((await read('portal-a')).statusCode).toBe(404);
    expect((await read('made-up-9', '192.0.2.2')).statusCode).toBe(401);
    expect(fake.verified).toHaveLength(4);
  });
});

describe('a client', () => {
  test('has one limit, whatever tokens and addresses it uses', async () => {
    start({ requestsPerMinute: 2 });
    fake.verify = () => ({ body: { profile: { resourceType: 'ClientApplication', id: 'a' } } });
    const responses = [await read('t1', '192.0.2.1'), await read('t2', '192.0.2.2'), await read('t3', '192.0.2.3')];
    expect(responses.map(({ statusCode }) => statusCode)).toEqual([404, 404, 429]);
  });

  test('has so many requests under way; another one is served meanwhile', async () => {
    start({ concurrentRequests: 2, waitingRequests: 0 });
    const gate = Promise.withResolvers<void>();
    fake.answer = async ({ headers }) => {
      await (headers.authorization === bearer.authorization ? gate.promise : undefined);
      return { status: 404 };
    };
    const open = [read('portal-a'), read('portal-a')];
    await until(() => fake.received.length === 2);
    expect((await read('portal-a')).statusCode).toBe(429);
    expect((await read('portal-b')).statusCode).toBe(404);
    gate.resolve();
    await Promise.all(open);
    await until(() => fake.received.length === 3);
    expect((await read('portal-a')).statusCode).toBe(404);
  });
});

describe('a client that is refused learns why, and when to come again', () => {
  const refusalOf = ({ statusCode, headers, json }: Awaited<ReturnType<typeof read>>) => [
    statusCode,
    headers['retry-after'],
    json().issue[0].diagnostics,
  ];

  test.each<[string, Partial<GatewayLimits>]>([
    ['Too many requests from this client.', { requestsPerMinute: 1 }],
    ['Too many requests from this address.', { requestsPerMinuteAndAddress: 1 }],
    ['Too many different credentials from this address.', { attemptsPerMinuteAndAddress: 1 }],
  ])('%s', async (reason, limits) => {
    start(limits);
    expect((await read('a')).statusCode).toBe(404);
    const [status, seconds, diagnostics] = refusalOf(await read(reason.includes('client') ? 'a' : 'b'));
    expect([status, diagnostics]).toEqual([429, `${reason} Try again in ${seconds} s.`]);
    expect([Number(seconds) > 0, Number(seconds) <= 60]).toEqual([true, true]);
  });

  test.each([
    ['no token', undefined, 'Bearer'],
    ['no bearer token', 'Basic YTpi', 'Bearer'],
    ['a token that Medplum refuses', 'Bearer made-up', 'Bearer error="invalid_token"'],
  ])('%s', async (_, authorization, challenge) => {
    start({ attemptsPerMinuteAndAddress: 2 });
    refuseAll();
    const send = () => gateway.inject({ url: '/fhir/R4/Slot/s1', headers: authorization ? { authorization } : {} });
    const responses = [await send(), await send(), await send()];
    expect(responses.map(({ statusCode, headers }) => [statusCode, headers['www-authenticate']])).toEqual(
      Array(3).fill([401, challenge]),
    );
  });
});

test('a client that goes while it waits leaves its place to the next one', async () => {
  start({ concurrentRequests: 1, waitingRequests: 2 });
  const url = await gateway.listen({ port: 0, host: '127.0.0.1' });
  const gate = Promise.withResolvers<undefined>();
  fake.answer = () => gate.promise;
  const send = (signal?: AbortSignal) =>
    fetch(`${url}/fhir/R4/Slot/s1`, { headers: bearer, ...(signal && { signal }) });
  const first = send();
  await until(() => fake.received.length === 1);
  const goes = new AbortController();
  const gone = send(goes.signal).catch(() => 'gone');
  // It waits when a request that was sent later is answered.
  await fetch(`${url}/healthz`);
  goes.abort();
  expect(await gone).toBe('gone');
  const last = send();
  gate.resolve(undefined);
  expect([(await first).status, (await last).status]).toEqual([404, 404]);
});

test('another request is answered while one of 1 MB is worked on', async () => {
  start();
  const url = await gateway.listen({ port: 0, host: '127.0.0.1' });
  const gate = Promise.withResolvers<void>();
  fake.answer = async ({ path }) => {
    await (path.endsWith('$execute') ? gate.promise : undefined);
    return { status: 404 };
  };
  const file = 'x'.repeat(1024 * 1024 - 100);
  const large = fetch(`${url}/fhir/R4/Appointment/$book`, {
    method: 'POST',
    headers: fhirJson,
    body: JSON.stringify({ resourceType: 'Parameters', data: file }),
  });
  await until(() => fake.received.length > 0);
  expect((await fetch(`${url}/fhir/R4/Slot/s1`, { headers: bearer })).status).toBe(404);
  gate.resolve();
  await large;
});
