import { beforeEach, describe, expect, test } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { namedBy } from '../../../gateway/interactions/definitions.ts';
import { base, bearer, config, searchset, withGateway } from '../fake-medplum.ts';

const { fake, inject } = withGateway();

beforeEach(() => {
  fake.answer = () => ({ body: searchset(fake.url, 'StructureDefinition', stored) });
});

const url = artefactUri(config, 'LocalTermin');
const own = { resourceType: 'StructureDefinition', id: 'x1', url, meta: { versionId: '4' } };
const stored = [
  { resourceType: 'StructureDefinition', id: 'x0', url: 'urn:other' },
  { resourceType: 'OperationDefinition', id: 'x2', url },
  own,
  { ...own, id: 'x3' },
];

async function get(path: string) {
  const answer = await inject({ url: `/fhir/R4/${path}`, headers: bearer });
  return { status: answer.statusCode, headers: answer.headers, body: answer.json() };
}

const bodies = () => fake.received.map(({ path, body }) => [path, Object.fromEntries(new URLSearchParams(body))]);

describe('a definition that the CapabilityStatement names', () => {
  test.each(['StructureDefinition/x1', 'StructureDefinition/Patient', 'OperationDefinition/LocalTermin'])(
    '%s is no such one: 404, and Medplum is not asked',
    async (path) => {
      expect((await get(path)).status).toBe(404);
      expect(fake.received).toEqual([]);
    },
  );

  test('is not there if the installation has it not', async () => {
    fake.answer = () => ({ body: searchset(fake.url, 'StructureDefinition', []) });
    expect((await get('StructureDefinition/LocalTermin')).status).toBe(404);
  });

  test.each([
    [{ status: 500 }, 503],
    [{ status: 403 }, 403],
    [{ body: { resourceType: 'Patient' } }, 502],
  ])('where Medplum says %j: %i', async (reply, status) => {
    fake.answer = () => reply;
    const statuses = [(await get('StructureDefinition/LocalTermin')).status, (await get('StructureDefinition')).status];
    expect(statuses).toEqual([status, status]);
  });
});

describe('the definitions', () => {
  test('are all of them, if none is named', async () => {
    const { body } = await get('StructureDefinition');
    expect(body.link).toEqual([{ relation: 'self', url: `${base}/StructureDefinition` }]);
    const [, sent] = bodies()[0] ?? [];
    expect(typeof sent === 'object' && sent.url?.split(',').length).toBeGreaterThan(3);
  });

  test('of several conditions must meet each', async () => {
    const { body } = await get(`StructureDefinition?url=${url}&url=urn:other`);
    expect([body.total, body.entry, fake.received]).toEqual([0, undefined, []]);
  });

  test.each(['url=', '_format=json&_pretty=true', 'url=&_format=json'])('%s is no condition', async (query) => {
    expect((await get(`StructureDefinition?${query}`)).body.total).toBe(1);
  });

  test.each(['x_format', '_formats', 'x_pretty', '_format2'])('are not found by %s', async (name) => {
    const { status, body } = await get(`StructureDefinition?${name}=json`);
    expect([status, body.issue[0].expression]).toEqual([400, [`http.${name}`]]);
    expect(fake.received).toEqual([]);
  });

  test.each<[string, object]>([
    ['no entries', { entry: undefined }],
    ['entries that are none', { entry: [null, 1, {}, { resource: null }, { resource: { ...own, url: 1 } }] }],
    ['resources without a URL', { entry: [{ resource: { ...own, url: undefined } }] }],
  ])('are none where Medplum gives %s', async (_, more) => {
    fake.answer = () => ({ body: { ...searchset(fake.url, 'StructureDefinition', []), ...more } });
    expect((await get('StructureDefinition')).body).toMatchObject({ resourceType: 'Bundle', total: 0 });
    expect((await get('StructureDefinition/LocalTermin')).status).toBe(404);
  });

  test('are found by nothing else', async () => {
    const { status, body } = await get('StructureDefinition?name=a&status=active');
    expect([status, body.issue.map(({ expression }: { expression: string[] }) => expression[0])]).toEqual([
      400,
      ['http.name', 'http.status'],
    ]);
    expect(body.issue[0].diagnostics).toBe('StructureDefinition is searched by url only.');
  });
});

test('what a CapabilityStatement names is listed once, by its type', () => {
  const resource = [
    {
      type: 'Appointment' as const,
      supportedProfile: ['urn:p', 'urn:p'],
      operation: [{ name: 'book', definition: 'urn:o' }],
      searchParam: [{ name: 'a', type: 'token' as const, definition: 'urn:s' }],
    },
    { type: 'Slot' as const, supportedProfile: ['urn:q'], searchParam: [{ name: '_count', type: 'number' as const }] },
    { type: 'Patient' as const },
  ];
  expect(
    namedBy({
      resourceType: 'CapabilityStatement',
      status: 'active',
      date: '2027',
      kind: 'instance',
      fhirVersion: '4.0.1',
      format: ['json'],
      rest: [{ mode: 'server', resource }, { mode: 'server' }],
    }),
  ).toEqual({
    StructureDefinition: ['urn:p', 'urn:q'],
    OperationDefinition: ['urn:o'],
    SearchParameter: ['urn:s'],
  });
});
