import { beforeEach, describe, expect, test } from '@jest/globals';
import { presets } from '../../../core/config/presets.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { capabilityStatement } from '../../../gateway/interactions/capability-statement.ts';
import { isServedType } from '../../../gateway/served-types.ts';
import { bearer, config, searchset, withGateway } from '../fake-medplum.ts';

describe('definitions', () => {
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
    const response = await inject({ url: `/fhir/R4/${path}`, headers: bearer });
    return { status: response.statusCode, headers: response.headers, body: response.json() };
  }

  test('a definition that the client has is not sent again', async () => {
    const headers = { ...bearer, 'if-none-match': 'W/"4"' };
    const { statusCode, body } = await inject({ url: '/fhir/R4/StructureDefinition/LocalTermin', headers });
    expect([statusCode, body]).toEqual([304, '']);
  });

  describe('the definitions', () => {
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
  });
});

const statementOf = (preset: string) =>
  capabilityStatement(resolveConfig({ preset, baseUrl: 'https://clinic.example/fhir/R4' }), '2027-01-01');

const resourceOf = (preset: string, type: string) =>
  statementOf(preset).rest?.[0]?.resource?.find((one) => one.type === type);

/** What FHIR does not define as a search parameter, or not at all. */
const ofOurs = new Set(['_count', 'payer-kind']);

test.each(Object.keys(presets))(
  'with the preset %s every search parameter has its type, and FHIR defines it unless it is the service’s own',
  (preset) => {
    const resources = statementOf(preset).rest?.[0]?.resource ?? [];
    for (const { type, searchParam = [] } of resources) {
      const names = searchParam.map(({ name }) => name);
      expect(names).toEqual([...new Set(names)]);
      if (isServedType(type)) {
        expect(searchParam).toContainEqual({ name: '_count', type: 'number' });
      }
      const undefinedOnes = searchParam.filter(({ name = '', definition }) => !ofOurs.has(name) && !definition);
      expect([type, undefinedOnes]).toEqual([type, []]);
    }
  },
);

test('the definitions are those of the parameter, also where types share one', () => {
  const { searchParam } = resourceOf('default', 'Patient') ?? {};
  expect(searchParam).toContainEqual({
    name: 'birthdate',
    definition: 'http://hl7.org/fhir/SearchParameter/individual-birthdate',
    type: 'date',
  });
  expect(searchParam).toContainEqual({
    name: '_id',
    definition: 'http://hl7.org/fhir/SearchParameter/Resource-id',
    type: 'token',
  });
});

test.each([
  ['default', 'http://hl7.org/fhir/SearchParameter/Encounter-date-start'],
  ['isik5', 'https://gematik.de/fhir/isik/SearchParameter/Encounter-date-start'],
])('with the preset %s a parameter of a later FHIR is defined by %s', (preset, definition) => {
  expect(resourceOf(preset, 'Encounter')?.searchParam).toContainEqual({
    name: 'date-start',
    definition,
    type: 'date',
  });
});
