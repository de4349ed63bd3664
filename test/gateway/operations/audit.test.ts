import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import pino from 'pino';
import type { FhirResponse } from '../../../gateway/http/response.ts';
import type { Caller } from '../../../gateway/medplum/current-profile.ts';
import { addAudit, noteResponse } from '../../../gateway/operations/audit.ts';
import { bearer, fhirJson, gatewayTo, withGateway } from '../fake-medplum.ts';

describe('audit routes', () => {
  const staff: Caller = {
    profileType: 'Practitioner',
    profileId: 'p1',
    role: 'staff',
    findsAllOf: [],
    versions: {},
  };

  const base = '/fhir/R4';

  const routes = [
    ['POST', base],
    ...['', '/_search', '/$book'].map((end) => ['POST', `${base}/Appointment${end}`]),
    ...['', '/$find', '/:id', '/:id/_history', '/:id/_history/:vid'].map((end) => ['GET', `${base}/Appointment${end}`]),
    ...['PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((method) => [method, `${base}/Patient/:id`]),
    ...['/Slot/:id', '/Patient/:patient/x', '/:id', '/$events'].map((end) => ['GET', `${base}${end}`]),
  ] as const;

  const lines: { msg: string; audit: unknown }[] = [];
  let caller: Caller | undefined = staff;
  let response: FhirResponse | undefined;
  const logger: FastifyBaseLogger = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const app: FastifyInstance = fastify({ loggerInstance: logger });

  app.decorateRequest('caller', undefined);

  app.addHook('onRequest', async (request) => {
    request.caller = caller;
    if (response) {
      noteResponse(request, response);
    }
  });

  addAudit(app);

  for (const [method = '', url = ''] of routes) {
    app.route({ method, url, handler: async () => 'ok' });
  }

  afterAll(() => app.close());

  beforeEach(() => {
    caller = staff;
    response = undefined;
  });

  async function recorded(method: string, path: string): Promise<unknown[]> {
    lines.length = 0;
    await app.inject({ method: method as 'GET', url: `${base}${path}` });
    return lines.filter(({ msg }) => msg === 'audit').map(({ audit }) => audit);
  }

  describe('the interaction that is recorded', () => {
    test.each([
      ['GET', '/Appointment/a1', { interaction: 'read' }],
      ['GET', '/Appointment/a1/_history', { interaction: 'history-instance' }],
      ['GET', '/Appointment/a1/_history/2', { interaction: 'vread' }],
      ['GET', '/Appointment', { interaction: 'search-type' }],
      ['POST', '/Appointment/_search', { interaction: 'search-type' }],
      ['GET', '/Appointment/$find', { interaction: 'operation', operation: '$find' }],
      ['POST', '/Appointment/$book', { interaction: 'operation', operation: '$book' }],
      ['POST', '/Appointment', { interaction: 'create' }],
      ['PUT', '/Patient/p1', { interaction: 'update' }],
      ['PATCH', '/Patient/p1', { interaction: 'patch' }],
      ['DELETE', '/Patient/p1', { interaction: 'delete' }],
      ['OPTIONS', '/Patient/p1', { interaction: 'OPTIONS' }],
    ])('of %s %s', async (method, path, expected) => {
      const [type, id] = path.slice(1).split('/');
      const resources = id === undefined || !/^[ap]1$/.test(id) ? [] : [`${type}/${id}`];
      expect(await recorded(method, path)).toEqual([
        { client: 'Practitioner/p1', resources, status: 200, ...expected },
      ]);
    });

    test('of a batch', async () => {
      response = { status: 200, resource: { resourceType: 'Patient', id: 'p1' } };
      expect(await recorded('POST', '')).toMatchObject([{ interaction: 'batch', resources: ['Patient/p1'] }]);
    });
  });

  describe('the resources that are recorded', () => {
    const by = async (given: object | undefined, headers?: Record<string, string>): Promise<unknown> => {
      response = JSON.parse(JSON.stringify({ status: 200, resource: given, headers }));
      const [found] = await recorded('GET', '/Appointment');
      return (found as { resources?: unknown }).resources;
    };
    const appointment = (...actors: (object | undefined)[]) => ({
      resourceType: 'Appointment',
      id: 'a1',
      participant: actors.map((actor) => ({ actor })),
    });

    test.each<[string, object, string[]]>([
      ['an appointment and its patient', appointment({ reference: 'Patient/p1' }), ['Appointment/a1', 'Patient/p1']],
      [
        'no other participants',
        appointment(undefined, {}, { reference: 'Practitioner/d1' }, { reference: 'https://x.example/Patient/p1' }),
        ['Appointment/a1'],
      ],
      ['an appointment of nobody', { resourceType: 'Appointment', id: 'a1' }, ['Appointment/a1']],
      ['other persons', { resourceType: 'RelatedPerson', id: 'r1' }, ['RelatedPerson/r1']],
      ['answers to questions', { resourceType: 'QuestionnaireResponse', id: 'q1' }, ['QuestionnaireResponse/q1']],
      ['visits', { resourceType: 'Encounter', id: 'e1' }, ['Encounter/e1']],
      ['no slots', { resourceType: 'Slot', id: 's1', participant: [{ actor: { reference: 'Patient/p1' } }] }, []],
      ['nothing without an id', { resourceType: 'Patient' }, []],
      ['nothing of an empty Bundle', { resourceType: 'Bundle' }, []],
      [
        'those in a Bundle, once',
        {
          resourceType: 'Bundle',
          entry: [
            {},
            { resource: appointment({ reference: 'Patient/p1' }) },
            { resource: { resourceType: 'Bundle', entry: [{ resource: { resourceType: 'Patient', id: 'p1' } }] } },
            { resource: { resourceType: 'Patient', id: 'p2' } },
          ],
        },
        ['Appointment/a1', 'Patient/p1', 'Patient/p2'],
      ],
    ])('%s', async (_, resource, expected) => {
      expect(await by(resource)).toEqual(expected);
    });

    test.each<[string, string[]]>([
      ['https://x.example/fhir/R4/Appointment/a1', ['Appointment/a1']],
      ['https://x.example/fhir/R4/Patient/p1/_history/12', ['Patient/p1']],
      ['https://x.example/fhir/R4/Subscription/s1', []],
      ['https://x.example/fhir/R4/XPatient/p1', []],
      ['https://x.example/fhir/R4/Patient/p1/$x/y', []],
      ['https://x.example/fhir/R4/Patient/p1/_history/1/2', []],
    ])('what is at %s', async (location, expected) => {
      expect(await by(undefined, { location })).toEqual(expected);
      expect(await by(undefined, { 'x-location': location })).toEqual([]);
    });
  });

  describe('nothing is recorded', () => {
    test.each([
      ['of slots', '/Slot/s1'],
      ['of what has no type', '/x1'],
      ['of what is about nobody', '/$events'],
      ['of what is not there', '/none/none/none/none'],
    ])('%s', async (_, path) => {
      expect(await recorded('GET', path)).toEqual([]);
    });

    test('of strangers', async () => {
      caller = undefined;
      expect(await recorded('GET', '/Appointment/a1')).toEqual([]);
    });

    test('as the id of a patient that is not', async () => {
      expect(await recorded('GET', '/Patient/p1/x')).toMatchObject([{ resources: [] }]);
    });
  });
});

describe('audit', () => {
  const [appointment, patient] = ['0b1c2d3e-0000-4000-8000-000000000001', '0b1c2d3e-0000-4000-8000-000000000002'];

  const stored = {
    resourceType: 'Appointment',
    id: appointment,
    status: 'booked',
    comment: 'Secret',
    participant: [
      { actor: { reference: `Patient/${patient}`, display: 'Secret' }, status: 'accepted' },
      { actor: { reference: 'Practitioner/p1' }, status: 'accepted' },
    ],
  };

  const bundle = { resourceType: 'Bundle', type: 'searchset', total: 1, entry: [{ resource: stored }] };
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level: 'info' }, { write: (text) => void lines.push(JSON.parse(text)) });
  const { fake, inject } = withGateway({}, { logger, audit: true });

  beforeEach(() => {
    lines.length = 0;
  });

  /** What is recorded of a request; Medplum answers with a resource. */
  async function recorded(
    method: 'GET' | 'POST' | 'PATCH' | 'PUT',
    path: string,
    body: unknown,
    sent?: string,
    more = {},
  ) {
    fake.answer = () => (body ? { body } : { status: 404 });
    const headers = sent?.startsWith('_')
      ? { ...bearer, 'content-type': 'application/x-www-form-urlencoded' }
      : fhirJson;
    const response = await inject({
      method,
      url: `/fhir/R4${path}`,
      headers: { ...(sent ? headers : bearer), 'x-request-id': 'request-7', ...more },
      ...(sent && { payload: sent }),
    });
    const found = lines.filter((line) => line.msg === 'audit');
    expect(JSON.stringify(found)).not.toContain('Secret');
    expect(found.every(({ reqId }) => reqId === 'request-7')).toBe(true);
    return { status: response.statusCode, audit: found.map(({ audit }) => audit) };
  }

  const client = 'ClientApplication/portal-a-id';
  const both = [`Appointment/${appointment}`, `Patient/${patient}`];

  test.each([
    ['GET', '/Appointment?patient=Patient/Secret', undefined],
    ['POST', '/Appointment/_search', '_id=Secret'],
  ] as const)('%s %s names what was found, not what was asked', async (method, path, form) => {
    const { status, audit } = await recorded(method, path, bundle, form);
    expect(audit).toEqual([{ client, interaction: 'search-type', resources: both, status }]);
    expect(status).toBe(200);
  });

  test('without the setting nothing is recorded', async () => {
    const silent = gatewayTo(fake, {}, { logger });
    fake.answer = () => ({ body: stored });
    await silent.inject({ method: 'GET', url: `/fhir/R4/Appointment/${appointment}`, headers: bearer });
    expect(lines.map(({ msg }) => msg)).toEqual(['answered']);
  });
});
