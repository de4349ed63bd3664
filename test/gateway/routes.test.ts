import { beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { InjectOptions } from 'fastify';
import { servedTypeNames } from '../../gateway/served-types.ts';
import { bearer, fhirJson, searchset, withGateway } from './fake-medplum.ts';

describe('routes', () => {
  const { fake, inject, gateway } = withGateway();

  beforeEach(() => {
    fake.answer = () => ({ body: searchset(fake.url, 'Slot', []) });
  });

  const form = { ...bearer, 'content-type': 'application/x-www-form-urlencoded' };

  /** What is said against a request, which must not reach Medplum. */
  async function refused(request: InjectOptions) {
    const response = await inject({ headers: bearer, ...request });
    expect(fake.received).toEqual([]);
    const [{ diagnostics, expression }] = response.json().issue;
    return { status: response.statusCode, headers: response.headers, diagnostics, expression };
  }

  describe('a request is refused, and told what is supported', () => {
    test.each([
      ['is of another type', 'text/csv', 'x'],
      ['cannot be read', 'application/fhir+json', '{'],
      ['is too large', 'application/fhir+json', `"${'x'.repeat(1024 * 1024)}"`],
    ])('in another format, whatever it sends: a body that %s', async (_, type, payload) => {
      const headers = { ...bearer, accept: 'text/csv', 'content-type': type };
      const { status } = await refused({ method: 'POST', url: '/fhir/R4/Patient', headers, payload });
      expect(status).toBe(406);
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
  });

  describe('the form of a search', () => {
    const search = (payload: string, app = gateway()) =>
      app.inject({ method: 'POST', url: '/fhir/R4/Slot/_search', headers: form, payload });

    test('has 65536 bytes at most; a larger one is a wrong search: 400', async () => {
      const start = 'identifier=x&_format=';
      const most = await search(start.padEnd(65_536, ' '));
      expect(most.statusCode).toBe(200);
      const response = await search(start.padEnd(65_537, ' '));
      expect([response.statusCode, response.headers.connection, response.json().issue]).toMatchObject([
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
      const response = await inject({
        method: 'POST',
        url: '/fhir/R4/Slot/_search',
        headers: { ...form, 'content-length': '100' },
        payload: 'identifier=x',
      });
      expect([response.statusCode, response.json().issue[0].code]).toEqual([400, 'structure']);
    });
  });
});

describe('allow list', () => {
  const { fake, inject } = withGateway();

  beforeEach(() => {
    fake.answer = () => undefined;
  });

  async function expectRefused(request: InjectOptions, status: number): Promise<void> {
    const response = await inject(request);
    expect(response.statusCode).toBe(status);
    expect(response.headers['content-type']).toBe('application/fhir+json; charset=utf-8');
    expect(response.json().resourceType).toBe('OperationOutcome');
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
      const response = await inject({
        method,
        url,
        headers: { ...bearer, 'content-type': 'text/x' },
        payload: 'x',
      });
      expect(response.statusCode).toBe(405);
      expect(response.headers.allow).toBe(allow);
      expect(response.json().issue[0].code).toBe('not-supported');
      expect(fake.received).toEqual([]);
    });
  });

  describe('authentication', () => {
    test.each([undefined, 'Basic YTpi', 'Bearer', 'Bearer a b', 'portal-a'])('%s is 401', async (authorization) => {
      const headers = authorization === undefined ? {} : { authorization };
      const response = await inject({ url: '/fhir/R4/Slot', headers });
      expect(response.statusCode).toBe(401);
      expect(response.headers['www-authenticate']).toBe('Bearer');
      expect(response.json().issue[0].code).toBe('login');
      expect(fake.received).toEqual([]);
    });

    test('a token that Medplum refuses is 401, and Medplum got it untouched', async () => {
      fake.answer = () => ({ status: 401, body: { resourceType: 'OperationOutcome', issue: [] } });
      const response = await inject({ url: '/fhir/R4/Slot/1', headers: bearer });
      expect(response.statusCode).toBe(401);
      expect(response.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
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
          tracestate: 'a=b',
          accept: 'application/fhir+xml',
        },
      });
      expect(Object.keys(fake.received[0]?.headers ?? {}).sort()).toEqual([
        'accept',
        'authorization',
        'connection',
        'host',
        'traceparent',
        'tracestate',
        'x-request-id',
      ]);
      expect(fake.received[0]?.headers).toMatchObject({ accept: 'application/fhir+json', 'x-request-id': 'abc-1' });
    });
  });
});

describe('handler', () => {
  const { fake, inject } = withGateway();

  beforeEach(() => {
    fake.answer = ({ path }) => (path.endsWith('/s1') ? { body: slot } : { body: searchset(fake.url, 'Slot', [slot]) });
  });

  const slot = { resourceType: 'Slot', id: 's1' };
  const get = (url: string, headers = {}) => inject({ url: `/fhir/R4/${url}`, headers: { ...bearer, ...headers } });

  const search = (query: string, form: string, headers = {}) =>
    inject({
      method: 'POST',
      url: `/fhir/R4/Slot/_search${query}`,
      headers: { ...bearer, 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload: form,
    });

  describe('how an answer is written', () => {
    const xml = 'application/fhir+xml; charset=utf-8';
    const json = 'application/fhir+json; charset=utf-8';

    test.each([
      ['', '_format=xml', xml],
      ['?_format=xml', '', xml],
      ['?_format=xml', '_format=json', xml],
      ['', 'identifier=x', json],
    ])('a search by POST with the query %j and the form %j is answered as %s', async (query, form, type) => {
      const response = await search(query, form);
      expect([response.statusCode, response.headers['content-type']]).toEqual([200, type]);
    });

    test.each([
      ['Slot/s1?_pretty=true', true],
      ['Slot/s1?_pretty=false', false],
      ['Slot/s1?_pretty', false],
      ['Slot/s1', false],
    ])('%s is written for human readers: %s', async (url, isPretty) => {
      expect((await get(url)).body.includes('\n')).toBe(isPretty);
    });
  });
});
