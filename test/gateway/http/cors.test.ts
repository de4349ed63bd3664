import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { bearer, type FakeMedplum, gatewayTo, startFakeMedplum } from '../fake-medplum.ts';

const portal = 'https://portal.example.org';
let fake: FakeMedplum;
let open: FastifyInstance;
let closed: FastifyInstance;

beforeAll(async () => {
  fake = await startFakeMedplum();
  open = gatewayTo(fake, {}, { corsOrigins: [portal] });
  closed = gatewayTo(fake);
  await Promise.all([open.ready(), closed.ready()]);
});

afterAll(() => Promise.all([open.close(), closed.close(), fake.close()]));

/** What is listed in a header. */
const listed = (header: string | string[] | number | undefined) => String(header).split(', ').sort();

const preflight = (origin: string) => ({
  method: 'OPTIONS' as const,
  url: '/fhir/R4/Appointment/$book',
  headers: {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,prefer',
  },
});

describe('a browser', () => {
  test('may call from an origin that is configured', async () => {
    const asked = await open.inject(preflight(portal));
    expect([asked.statusCode, asked.headers['access-control-allow-origin']]).toEqual([204, portal]);
    expect(asked.headers['access-control-allow-headers']).toContain('authorization');
    expect(listed(asked.headers['access-control-allow-methods'])).toEqual([
      'DELETE',
      'GET',
      'HEAD',
      'PATCH',
      'POST',
      'PUT',
    ]);
    const called = await open.inject({ url: '/fhir/R4/Slot/s1', headers: { ...bearer, origin: portal } });
    expect(called.headers).toMatchObject({ 'access-control-allow-origin': portal, vary: 'Origin' });
    expect(listed(called.headers['access-control-expose-headers'])).toEqual([
      'Allow',
      'Content-Location',
      'ETag',
      'Location',
      'Preference-Applied',
      'Retry-After',
      'WWW-Authenticate',
      'X-Progress',
      'X-Request-Id',
    ]);
  });

  test('may send credentials, and asks again after ten minutes', async () => {
    const { headers } = await open.inject(preflight(portal));
    expect(headers).toMatchObject({ 'access-control-allow-credentials': 'true', 'access-control-max-age': '600' });
  });

  test('need not say which method it is going to use', async () => {
    const asked = await open.inject({ method: 'OPTIONS', url: '/fhir/R4/Slot', headers: { origin: portal } });
    expect([asked.statusCode, asked.headers['access-control-allow-origin']]).toEqual([204, portal]);
  });

  test.each([
    ['GET', '/fhir/R4/Slot'],
    ['GET', '/fhir/R4/metadata'],
    ['PUT', '/fhir/R4/Slot/1'],
    ['POST', '/oauth2/token'],
    ['GET', '/.well-known/smart-configuration'],
  ] as const)('may read every answer, refusals among them: %s %s', async (method, url) => {
    const answer = await open.inject({ method, url, headers: { origin: portal } });
    expect(answer.headers['access-control-allow-origin']).toBe(portal);
  });

  test('may not call from another origin', async () => {
    for (const origin of ['https://evil.example.org', 'null', `${portal}.evil.org`, 'http://portal.example.org']) {
      expect((await open.inject(preflight(origin))).headers['access-control-allow-origin']).toBeUndefined();
      const called = await open.inject({ url: '/fhir/R4/Slot/s1', headers: { ...bearer, origin } });
      expect(called.headers['access-control-allow-origin']).toBeUndefined();
    }
  });

  test('may not call from anywhere by default', async () => {
    const asked = await closed.inject(preflight(portal));
    expect([asked.statusCode, asked.headers['access-control-allow-origin']]).toEqual([405, undefined]);
    const called = await closed.inject({ url: '/fhir/R4/Slot/s1', headers: { ...bearer, origin: portal } });
    expect(called.headers['access-control-allow-origin']).toBeUndefined();
  });

  test('finds in the metadata whether it may', async () => {
    const corsOf = async (app: FastifyInstance) => (await app.inject('/fhir/R4/metadata')).json().rest[0].security.cors;
    expect([await corsOf(open), await corsOf(closed)]).toEqual([true, false]);
  });
});
