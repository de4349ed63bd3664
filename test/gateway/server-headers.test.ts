import { connect } from 'node:net';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { resolveConfig } from '../../core/config/resolve.ts';
import { until } from '../lib/until.ts';
import { bearer, gatewayTo, searchset, withGateway } from './fake-medplum.ts';

const { fake, inject } = withGateway();

beforeEach(() => {
  fake.answer = () => undefined;
});

const uuid = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

describe('the id of a request', () => {
  test.each(['a', 'A-1_b.2', 'a'.repeat(64)])('%s is that of the client', async (sent) => {
    const { headers } = await inject({ url: '/healthz', headers: { 'x-request-id': sent } });
    expect(headers['x-request-id']).toBe(sent);
  });

  test.each([undefined, '', 'a b', 'a/b', 'ä', 'a'.repeat(65)])(
    '%s is not taken: the request gets one',
    async (sent) => {
      const { headers } = await inject({
        url: '/fhir/R4/metadata',
        headers: { ...(sent !== undefined && { 'x-request-id': sent }) },
      });
      expect(headers['x-request-id']).toMatch(uuid);
    },
  );

  test('is in refusals, too', async () => {
    const headers = { 'x-request-id': 'r-1' };
    for (const url of ['/nowhere', '/fhir/R4/Slot', '/oauth2/nowhere']) {
      expect((await inject({ url, headers })).headers['x-request-id']).toBe('r-1');
    }
  });
});

describe('browsers are told', () => {
  test('to run and to frame nothing that the service answers', async () => {
    const { headers } = await inject('/fhir/R4/metadata');
    expect(headers).toMatchObject({
      'content-security-policy': "default-src 'none';frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
    });
  });

  test.each([
    ['https://booking.example.org/fhir/R4', true],
    ['http://localhost:8080/fhir/R4', false],
  ])('to keep to https where the address is %s: %s', async (baseUrl, isSecure) => {
    const app = gatewayTo(fake, {}, { config: resolveConfig({ baseUrl }) });
    const { headers } = await app.inject('/fhir/R4/metadata');
    expect(headers['strict-transport-security'] !== undefined).toBe(isSecure);
    await app.close();
  });
});

describe('an address', () => {
  const bundle = { resourceType: 'Bundle', type: 'searchset' };

  test.each(['$status', '%24status', '$status/', '%24status?a=%24'])(
    'that ends with %s is that of the operation',
    async (name) => {
      fake.answer = () => ({ body: bundle });
      const answer = await inject({ url: `/fhir/R4/Subscription/u1/${name}`, headers: bearer });
      expect([answer.statusCode, answer.json()]).toEqual([200, bundle]);
    },
  );

  test('keeps what is encoded in its query', async () => {
    fake.answer = () => ({ body: searchset(fake.url, 'Slot', []) });
    const { body } = await inject({ url: '/fhir/R4/Slot?identifier=%2524', headers: bearer });
    expect(fake.received[0]?.query.get('identifier')).toBe('%24');
    expect(body).toContain('identifier=%2524');
  });

  test('with a part of thousands of characters is unknown, not an error', async () => {
    const answer = await inject({ url: `/fhir/R4/Slot/${'a'.repeat(10_000)}`, headers: bearer });
    expect(answer.statusCode).toBe(404);
  });

  test.each(['/fhir/R4/%zz', '/%zz'])('that cannot be read (%s) is refused with an outcome', async (url) => {
    const answer = await inject({ url });
    expect([answer.statusCode, answer.json().issue[0].code]).toEqual([400, 'structure']);
  });
});

describe('clients behind a proxy', () => {
  const statuses = async (app: FastifyInstance, addresses: readonly string[]) => {
    const found: number[] = [];
    for (const address of addresses) {
      found.push((await app.inject({ url: '/fhir/R4/metadata', headers: { 'x-forwarded-for': address } })).statusCode);
    }
    await app.close();
    return found;
  };

  test('are told apart where the proxy is trusted', async () => {
    const trusting = gatewayTo(fake, { requestsPerMinuteAndAddress: 1 }, { trustProxy: 1 });
    expect(await statuses(trusting, ['192.0.2.1', '198.51.100.1', '192.0.2.1'])).toEqual([200, 200, 429]);
  });

  test('count as one where none is trusted', async () => {
    const wary = gatewayTo(fake, { requestsPerMinuteAndAddress: 1 });
    expect(await statuses(wary, ['192.0.2.1', '198.51.100.1'])).toEqual([200, 429]);
  });
});

test('too many requests of an address are refused in the words of the endpoint', async () => {
  const busy = gatewayTo(fake, { requestsPerMinuteAndAddress: 1 });
  await busy.inject('/fhir/R4/metadata');
  const [fhir, oauth] = [
    await busy.inject({ url: '/fhir/R4/metadata', headers: { accept: 'application/fhir+xml' } }),
    await busy.inject({ method: 'POST', url: '/oauth2/token' }),
  ];
  expect([fhir.statusCode, fhir.headers['content-type']]).toEqual([429, 'application/fhir+xml; charset=utf-8']);
  expect([oauth.statusCode, oauth.json().error]).toEqual([429, 'temporarily_unavailable']);
  await busy.close();
});

test('a gateway that shuts down says when to come again, and is done with the connection', async () => {
  const app = gatewayTo(fake);
  const gate = Promise.withResolvers<void>();
  fake.answer = async () => {
    await gate.promise;
    return { body: { resourceType: 'Slot', id: 's1' } };
  };
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  const running = fetch(`http://127.0.0.1:${port}/fhir/R4/Slot/s1`, { headers: bearer });
  await until(() => fake.received.length === 1);
  const closing = app.close();
  for (const path of ['/fhir/R4/metadata', '/oauth2/token']) {
    const { status, headers } = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'GET' });
    expect([status, headers.get('retry-after'), headers.get('connection')]).toEqual([503, '5', 'close']);
  }
  gate.resolve();
  expect((await running).status).toBe(200);
  await closing;
});

test('pages are served beside the interface where they are given', async () => {
  const web = async (scope: FastifyInstance) => {
    scope.get('/page', async () => 'hello');
  };
  const [withPages, without] = [gatewayTo(fake, {}, { web }), gatewayTo(fake)];
  expect((await withPages.inject('/page')).body).toBe('hello');
  expect((await without.inject('/page')).statusCode).toBe(404);
  await Promise.all([withPages.close(), without.close()]);
});

test('the CapabilityStatement is of the time at which the gateway started', async () => {
  const app = gatewayTo(fake, {}, { now: () => Date.parse('2027-01-01T09:00:00Z') });
  expect((await app.inject('/fhir/R4/metadata')).json().date).toBe('2027-01-01T09:00:00.000Z');
  await app.close();
});

test('Medplum is hidden under every address that it names itself by', async () => {
  const alias = 'https://medplum.internal.example/';
  const app = gatewayTo(fake, {}, { medplumAliases: [alias] });
  const schedule = { reference: `${alias}fhir/R4/Schedule/c1` };
  fake.answer = () => ({ body: { resourceType: 'Slot', id: 's1', schedule } });
  const answer = await app.inject({ url: '/fhir/R4/Slot/s1', headers: bearer });
  expect(answer.json().schedule).toEqual({ reference: 'https://booking.example.org/fhir/R4/Schedule/c1' });
  await app.close();
});

test('a connection may offer to upgrade to something that is not served: it is a request like any', async () => {
  const app = gatewayTo(fake);
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  const client = connect(Number(port), '127.0.0.1');
  let received = '';
  client.on('data', (data) => {
    received += data;
  });
  client.write('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
  await until(() => received.includes('\r\n\r\n'));
  expect(received).toMatch(/^HTTP\/1.1 200 /);
  client.destroy();
  await app.close();
});
