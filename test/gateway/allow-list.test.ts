import { beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { InjectOptions } from 'fastify';
import { servedTypeNames } from '../../gateway/served-types.ts';
import { bearer, fhirJson, withGateway } from './fake-medplum.ts';

const { fake, inject } = withGateway();

beforeEach(() => {
  fake.answer = () => undefined;
});

async function expectRefused(request: InjectOptions, status: number): Promise<void> {
  const answer = await inject(request);
  expect(answer.statusCode).toBe(status);
  expect(answer.headers['content-type']).toBe('application/fhir+json; charset=utf-8');
  expect(answer.json().resourceType).toBe('OperationOutcome');
  expect(fake.received).toEqual([]);
}

describe('what is not served does not exist', () => {
  test.each([
    ['GET', '/'],
    ['GET', '/fhir/R4/_history'],
    ['GET', '/fhir/R4/Bot'],
    ['GET', '/fhir/R4/Bot/1'],
    ['POST', '/fhir/R4/Bot/$execute'],
    ['POST', '/fhir/R4/$graphql'],
    ['GET', '/fhir/R4/Binary/1'],
    ['GET', '/fhir/R4/ProjectMembership'],
    ['GET', '/admin/projects/1'],
    ['GET', '/auth/login'],
    ['POST', '/auth/me'],
    ['GET', '/fhir/R4/slot'],
    ['GET', '/fhir/R4//Slot'],
    ['GET', '//fhir/R4/Slot'],
    ['GET', '/fhir/R4/Slot;x=1'],
    ['GET', '/fhir/R4/Slot/..%2fBot'],
    ['GET', '/fhir/R4/Slot/%2e%2e/Bot'],
    ['GET', '/fhir/R4/Appointment/..%2fBot'],
    ['GET', '/fhir/R4/Slot/1/_history'],
    ['GET', '/fhir/R4/Slot/1/_history/1'],
    ['GET', '/fhir/R4/Appointment/_history'],
    ['GET', '/fhir/R4/Appointment/1/_history/1/2'],
    ['GET', '/fhir/R4/Appointment/a_b'],
    ['GET', `/fhir/R4/Appointment/${'a'.repeat(65)}`],
    ['GET', `/fhir/R4/Appointment/${'a'.repeat(500)}`],
    ['GET', '/fhir/R4/Appointment/$find'],
    ['POST', '/fhir/R4/Appointment/$find'],
    ['POST', '/fhir/R4/Appointment/%2524book'],
    ['POST', '/fhir/R4/Appointment/$BOOK'],
    ['POST', '/fhir/R4/Appointment/1/$book'],
    ['GET', '/fhir/R4/Patient/1/$everything'],
  ] as const)('%s %s is 404', async (method, url) => {
    const withBody = method === 'POST' ? { headers: fhirJson, payload: '{}' } : { headers: bearer };
    await expectRefused({ method, url, ...withBody }, 404);
  });

  test.each(['/fhir/R4', '/fhir/R4/', '/fhir/R4/Slot/..', '/fhir/R4/Slot/%2e%2e'])(
    'GET %s is 405: only a batch is sent there',
    (url) => expectRefused({ url, headers: bearer }, 405),
  );

  test.each(['/fhir/R4', '/fhir/R4/'])('POST %s takes nothing but a batch', (url) =>
    expectRefused({ method: 'POST', url, headers: fhirJson, payload: '{}' }, 400),
  );

  test.each(['/%zz', '/fhir/R4/Slot/%'])('%s is 400', (url) => expectRefused({ url, headers: bearer }, 400));

  test('whatever the path, only types of the service are asked for', async () => {
    const part = fc.constantFrom(
      '/',
      '..',
      '%2e',
      '%2f',
      '%5c',
      '\\',
      ';',
      '$',
      '%24',
      'Slot',
      'Bot',
      'fhir',
      'R4',
      '.',
      '%00',
      '?',
      '#',
      'x',
    );
    const served = new RegExp(`^/fhir/R4/(${servedTypeNames.join('|')})(/[A-Za-z0-9.-]{1,64})?$`);
    let reached = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 8 }), async (parts) => {
        fake.received.length = 0;
        await inject({ url: `/fhir/R4/${parts.join('')}`, headers: bearer });
        reached += fake.received.length;
        const paths = fake.received.map(({ path }) => path);
        expect(paths.filter((path) => !served.test(path) || /\/\.{1,2}(\/|$)/.test(path))).toEqual([]);
      }),
      { numRuns: 300, examples: [[['Slot', '/', 'x']], [['Slot', '/', '..', '%2e']]] },
    );
    expect(reached).toBeGreaterThan(0);
  });
});

describe('methods that a path has not are 405, and Allow names those it has', () => {
  test.each([
    ['PUT', '/fhir/R4/Appointment/1', 'GET, PATCH, HEAD'],
    ['DELETE', '/fhir/R4/Appointment/1', 'GET, PATCH, HEAD'],
    ['POST', '/fhir/R4/Appointment', 'GET, HEAD'],
    ['DELETE', '/fhir/R4/Patient/1', 'GET, PUT, HEAD'],
    ['PATCH', '/fhir/R4/Patient/1', 'GET, PUT, HEAD'],
    ['PUT', '/fhir/R4/Patient', 'GET, POST, HEAD'],
    ['GET', '/fhir/R4/Appointment/$book', 'POST'],
    ['POST', '/fhir/R4/Slot', 'GET, HEAD'],
    ['PUT', '/fhir/R4/Slot/1', 'GET, HEAD'],
    ['PUT', '/fhir/R4/Subscription', 'GET, POST, HEAD'],
    ['PATCH', '/fhir/R4/Subscription/1', 'GET, PUT, DELETE, HEAD'],
    ['DELETE', '/fhir/R4/Subscription/1/$status', 'GET, POST, HEAD'],
    ['POST', '/fhir/R4/metadata', 'GET, HEAD'],
  ] as const)('%s %s', async (method, url, allow) => {
    const answer = await inject({
      method,
      url,
      headers: { ...bearer, 'content-type': 'text/x' },
      payload: 'x',
    });
    expect(answer.statusCode).toBe(405);
    expect(answer.headers.allow).toBe(allow);
    expect(answer.json().issue[0].code).toBe('not-supported');
    expect(fake.received).toEqual([]);
  });
});

describe('authentication', () => {
  test.each([undefined, 'Basic YTpi', 'Bearer', 'Bearer a b', 'portal-a'])('%s is 401', async (authorization) => {
    const headers = authorization === undefined ? {} : { authorization };
    const answer = await inject({ url: '/fhir/R4/Slot', headers });
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(answer.json().issue[0].code).toBe('login');
    expect(fake.received).toEqual([]);
  });

  test('a token that Medplum refuses is 401, and Medplum got it untouched', async () => {
    fake.answer = () => ({ status: 401, body: { resourceType: 'OperationOutcome', issue: [] } });
    const answer = await inject({ url: '/fhir/R4/Slot/1', headers: bearer });
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
    expect(fake.received[0]?.headers.authorization).toBe('Bearer portal-a');
  });

  test('no header of the client but the allowed ones reaches Medplum', async () => {
    await inject({
      url: '/fhir/R4/Slot/1',
      headers: {
        ...bearer,
        'x-medplum': 'extended',
        'x-medplum-on-behalf-of': 'Practitioner/1',
        prefer: 'respond-async',
        cookie: 'a=b',
        'x-forwarded-for': '1.2.3.4',
        forwarded: 'for=1.2.3.4',
        'x-request-id': 'abc-1',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        accept: 'application/json',
      },
    });
    expect(Object.keys(fake.received[0]?.headers ?? {}).sort()).toEqual([
      'accept',
      'authorization',
      'connection',
      'host',
      'traceparent',
      'x-request-id',
    ]);
    expect(fake.received[0]?.headers['x-request-id']).toBe('abc-1');
  });
});

describe('formats', () => {
  test.each<[string, InjectOptions, number]>([
    ['Accept: text/html', { url: '/fhir/R4/Slot', headers: { ...bearer, accept: 'text/html' } }, 406],
    ['_format=turtle', { url: '/fhir/R4/Slot?_format=turtle', headers: bearer }, 406],
    [
      'a form to $book',
      {
        method: 'POST',
        url: '/fhir/R4/Appointment/$book',
        headers: { ...bearer, 'content-type': 'application/x-www-form-urlencoded' },
        payload: 'a=b',
      },
      415,
    ],
    ['no Content-Type', { method: 'POST', url: '/fhir/R4/Patient', headers: bearer, payload: Buffer.from('{}') }, 415],
    [
      'another charset',
      {
        method: 'POST',
        url: '/fhir/R4/Patient',
        headers: { ...bearer, 'content-type': 'application/json; charset=utf-16' },
        payload: '{}',
      },
      415,
    ],
    [
      'compressed',
      { method: 'POST', url: '/fhir/R4/Patient', headers: { ...fhirJson, 'content-encoding': 'gzip' }, payload: 'x' },
      415,
    ],
    ['JSON to _search', { method: 'POST', url: '/fhir/R4/Slot/_search', headers: fhirJson, payload: '{}' }, 415],
    ['no body', { method: 'POST', url: '/fhir/R4/Appointment/$book', headers: bearer }, 400],
    ['not JSON', { method: 'POST', url: '/fhir/R4/Appointment/$book', headers: fhirJson, payload: '{"a":' }, 400],
    ['an array', { method: 'POST', url: '/fhir/R4/Appointment/$book', headers: fhirJson, payload: '[]' }, 400],
    [
      'not UTF-8',
      { method: 'POST', url: '/fhir/R4/Patient', headers: fhirJson, payload: Buffer.from([0x22, 0xff, 0x22]) },
      400,
    ],
    [
      '__proto__',
      { method: 'POST', url: '/fhir/R4/Patient', headers: fhirJson, payload: '{"__proto__":{"a":1}}' },
      400,
    ],
    [
      '65 levels',
      {
        method: 'POST',
        url: '/fhir/R4/Patient',
        headers: fhirJson,
        payload: `{"a":${'['.repeat(64)}${']'.repeat(64)}}`,
      },
      400,
    ],
    [
      'half a million values',
      { method: 'POST', url: '/fhir/R4/Patient', headers: fhirJson, payload: `{"a":[${'0,'.repeat(500_000)}0]}` },
      400,
    ],
    [
      'a hundred thousand elements of XML',
      {
        method: 'POST',
        url: '/fhir/R4/Patient',
        headers: { ...bearer, 'content-type': 'application/fhir+xml' },
        payload: `<Patient xmlns="http://hl7.org/fhir">${'<name/>'.repeat(100_000)}</Patient>`,
      },
      400,
    ],
    [
      'a million levels',
      { method: 'POST', url: '/fhir/R4/Patient', headers: fhirJson, payload: '['.repeat(1_000_000) },
      400,
    ],
    [
      'more than 1 MB',
      { method: 'POST', url: '/fhir/R4/Patient', headers: fhirJson, payload: `{"a":"${'x'.repeat(1024 * 1024)}"}` },
      413,
    ],
  ])('%s', (_name, request, status) => expectRefused(request, status));

  test('malformed bodies carry the code malformed-request', async () => {
    const answer = await inject({ method: 'POST', url: '/fhir/R4/Patient', headers: fhirJson, payload: '{' });
    expect(answer.json().issue[0].details.coding[0].code).toBe('malformed-request');
  });
});
