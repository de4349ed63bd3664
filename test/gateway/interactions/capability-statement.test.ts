import { expect, test } from '@jest/globals';
import { presets } from '../../../core/config/presets.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { capabilityStatement } from '../../../gateway/interactions/capability-statement.ts';
import { isServedType } from '../../../gateway/served-types.ts';

const statementOf = (preset: string) =>
  capabilityStatement(resolveConfig({ preset, baseUrl: 'https://clinic.example/fhir/R4' }), '2027-01-01');

const resourceOf = (preset: string, type: string) =>
  statementOf(preset).rest?.[0]?.resource?.find((one) => one.type === type);

test.each(Object.keys(presets))(
  'with the preset %s every search parameter has its type, and FHIR defines it',
  (preset) => {
    const resources = statementOf(preset).rest?.[0]?.resource ?? [];
    for (const { type, searchParam = [] } of resources) {
      const names = searchParam.map(({ name }) => name);
      expect(names).toEqual([...new Set(names)]);
      if (isServedType(type)) {
        expect(searchParam).toContainEqual({ name: '_count', type: 'number' });
      }
      const undefinedOnes = searchParam.filter(({ name, definition }) => name !== '_count' && !definition);
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

test('scripts of other origins may call it only where that is said', () => {
  expect(statementOf('default').rest?.[0]?.security?.cors).toBe(false);
});
