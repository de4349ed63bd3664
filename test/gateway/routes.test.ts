import { beforeEach, describe, expect, test } from '@jest/globals';
import type { InjectOptions } from 'fastify';
import { bearer, fhirJson, searchset, withGateway } from './fake-medplum.ts';

const { fake, inject, gateway } = withGateway();

beforeEach(() => {
  fake.answer = () => ({ body: searchset(fake.url, 'Slot', []) });
});

const form = { ...bearer, 'content-type': 'application/x-www-form-urlencoded' };
const jsonPatch = { ...bearer, 'content-type': 'application/json-patch+json' };
const formats = 'application/fhir+json, application/json, application/fhir+xml, application/xml, text/xml';

/** What is said against a request, which must not reach Medplum. */
async function refused(request: InjectOptions) {
  const answer = await inject({ headers: bearer, ...request });
  expect(fake.received).toEqual([]);
  const [{ diagnostics, expression }] = answer.json().issue;
  return { status: answer.statusCode, headers: answer.headers, diagnostics, expression };
}

describe('a request is refused, and told what is supported', () => {
  test('in another format', async () => {
    const { status, diagnostics } = await refused({ url: '/fhir/R4/Slot', headers: { ...bearer, accept: 'text/csv' } });
    expect([status, diagnostics]).toEqual([406, `Supported formats: ${formats}.`]);
  });

  test.each([
    ['is of another type', 'text/csv', 'x'],
    ['cannot be read', 'application/fhir+json', '{'],
    ['is too large', 'application/fhir+json', `"${'x'.repeat(1024 * 1024)}"`],
  ])('in another format, whatever it sends: a body that %s', async (_, type, payload) => {
    const headers = { ...bearer, accept: 'text/csv', 'content-type': type };
    const { status } = await refused({ method: 'POST', url: '/fhir/R4/Patient', headers, payload });
    expect(status).toBe(406);
  });

  test.each<[string, 'POST' | 'PATCH', string, string]>([
    ['a resource', 'POST', 'Patient', `${formats}, in UTF-8, not encoded`],
    [
      'a patch',
      'PATCH',
      'Appointment/a1',
      `${formats} (FHIRPath Patch), application/json-patch+json, in UTF-8, not encoded`,
    ],
    ['a form', 'POST', 'Slot/_search', 'application/x-www-form-urlencoded'],
  ])('with another type than that of %s', async (_, method, path, supported) => {
    const headers = { ...bearer, 'content-type': 'text/csv' };
    const { status, diagnostics } = await refused({ method, url: `/fhir/R4/${path}`, headers, payload: 'x' });
    expect([status, diagnostics]).toEqual([415, `Supported: ${supported}.`]);
  });
});

describe('a body', () => {
  test.each<[string, 'POST' | 'PUT' | 'PATCH', string, string]>([
    ['a resource', 'POST', 'Patient', 'The body must be a FHIR resource.'],
    ['a resource', 'PUT', 'Patient/p1', 'The body must be a FHIR resource.'],
    ['a resource', 'POST', 'Appointment/$book', 'The body must be a FHIR resource.'],
    ['a resource', 'POST', 'Appointment/$hold', 'The body must be a FHIR resource.'],
    ['a patch', 'PATCH', 'Appointment/a1', 'The body must be a patch.'],
  ])('must be %s for %s %s', async (_, method, path, diagnostics) => {
    const url = `/fhir/R4/${path}`;
    const bodies: (object | undefined)[] = [
      { headers: fhirJson, payload: '[]' },
      { headers: fhirJson, payload: 'null' },
      {},
    ];
    for (const body of bodies) {
      const said = await refused({ method, url, ...body });
      expect(said).toMatchObject({ status: 400, diagnostics, expression: ['http.body'] });
    }
  });

  test('that cannot be read is refused before it is looked at', async () => {
    const request = { method: 'PATCH', url: '/fhir/R4/Appointment/a1', headers: jsonPatch, payload: '{' } as const;
    expect(await refused(request)).toMatchObject({ status: 400, diagnostics: 'The body is not valid JSON.' });
  });

  test('is not needed where a client names a type and sends nothing', async () => {
    const { statusCode } = await inject({
      method: 'POST',
      url: '/fhir/R4/Slot/_search',
      headers: fhirJson,
    });
    expect(statusCode).toBe(200);
  });

  test('of an operation that needs none may be left out', async () => {
    fake.answer = () => ({ body: { resourceType: 'Bundle', type: 'history' } });
    const { statusCode } = await inject({
      method: 'POST',
      url: '/fhir/R4/Subscription/u1/$events',
      headers: bearer,
    });
    expect(statusCode).toBe(200);
  });
});

describe('the form of a search', () => {
  const search = (payload: string, app = gateway()) =>
    app.inject({ method: 'POST', url: '/fhir/R4/Slot/_search', headers: form, payload });

  test('has 65536 bytes at most; a larger one is a wrong search: 400', async () => {
    const start = 'identifier=x&_format=';
    const most = await search(start.padEnd(65_536, ' '));
    expect(most.statusCode).toBe(200);
    const answer = await search(start.padEnd(65_537, ' '));
    expect([answer.statusCode, answer.headers.connection, answer.json().issue]).toMatchObject([
      400,
      undefined,
      [
        {
          details: { coding: [{ code: 'malformed-request' }] },
          diagnostics: 'The form of a search can have at most 65536 bytes.',
          expression: ['http.body'],
        },
      ],
    ]);
  });

  test('that is not as long as it says is no search, and no failure of the service', async () => {
    const answer = await inject({
      method: 'POST',
      url: '/fhir/R4/Slot/_search',
      headers: { ...form, 'content-length': '100' },
      payload: 'identifier=x',
    });
    expect([answer.statusCode, answer.json().issue[0].code]).toEqual([400, 'structure']);
  });
});

describe('a method that a path has not', () => {
  test.each([
    ['DELETE', 'Slot/s_1', 404],
    ['DELETE', 'Slot/s1', 405],
    ['PUT', 'Appointment/a_1/_history/1', 404],
    ['PUT', 'Appointment/a1/_history/1', 405],
    ['OPTIONS', 'Slot', 405],
    ['HEAD', 'Appointment/$book', 405],
    ['PATCH', 'async/t_1', 404],
    ['PATCH', 'async/t1', 405],
  ] as const)('%s %s: %i', async (method, path, status) => {
    const answer = await inject({ method, url: `/fhir/R4/${path}`, headers: bearer });
    expect([answer.statusCode, fake.received]).toEqual([status, []]);
    expect(answer.headers.allow === undefined).toBe(status === 404);
  });

  test('is refused without a token, in the format of the client', async () => {
    const headers = { accept: 'application/fhir+xml' };
    const answer = await inject({ method: 'DELETE', url: '/fhir/R4/Slot/s1', headers });
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([405, 'application/fhir+xml; charset=utf-8']);
  });
});

test('the description of the interface is not to be stored', async () => {
  const { headers } = await inject({ url: '/fhir/R4/openapi.json', headers: bearer });
  expect(headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  });
});
