import { describe, expect, test } from '@jest/globals';
import { validateResource } from '@medplum/core';
import { artefactUri } from '../../core/config/config.ts';
import { resolveConfig } from '../../core/config/resolve.ts';
import { bookingErrors } from '../../core/fhir/outcome/errors.ts';
import { buildArtefacts } from '../../profiles/artefacts.ts';
import { artefacts, config } from './validator.ts';

const isik = resolveConfig({ preset: 'isik', baseUrl: 'http://localhost:8080/fhir/R4' });

const codeSystem = (name: string) => artefacts.codeSystems.find((candidate) => candidate.name === name);

test.each([
  ...artefacts.codeSystems,
  ...artefacts.valueSets,
  ...artefacts.namingSystems,
  ...artefacts.operationDefinitions,
  ...Object.values(artefacts.accessPolicies),
])('$resourceType $name is valid', (resource) => {
  expect(validateResource(resource)).toEqual([]);
});

test('LocalBookingError lists exactly the errors of the service', () => {
  expect(codeSystem('LocalBookingError')?.concept?.map(({ code }) => code)).toEqual(Object.keys(bookingErrors));
});

describe('what a requestor can discover', () => {
  test.each(['HealthcareService', 'Schedule'])('the code systems used in %s', (resourceType) => {
    const found = artefacts.codeSystems.filter(({ useContext }) =>
      useContext?.some(
        ({ code, valueCodeableConcept }) =>
          code.system === config.contextTypeSystem &&
          code.code === 'ResourceUsage' &&
          valueCodeableConcept?.coding?.[0]?.system === config.resourceTypesSystem &&
          valueCodeableConcept.coding[0].code === resourceType,
      ),
    );
    expect(found.map(({ name }) => name)).toEqual(['LocalServiceType', 'LocalSpecialty']);
  });
});

test('CT is among the services', () => {
  expect(codeSystem('LocalServiceType')?.concept?.map(({ code }) => code)).toContain('CT');
});

test('the codes of LocalRequestor are not listed', () => {
  expect(codeSystem('LocalRequestor')).toMatchObject({ content: 'not-present' });
  expect(codeSystem('LocalRequestor')?.concept).toBeUndefined();
});

test('LocalContextType is created only where its address is the context type system', () => {
  expect(codeSystem('LocalContextType')?.url).toBe(config.contextTypeSystem);
  expect(buildArtefacts(isik).codeSystems.map(({ name }) => name)).not.toContain('LocalContextType');
});

test('a profile that has a publisher of its own is not created under its address', () => {
  expect(buildArtefacts(isik).structureDefinitions.map(({ name }) => name)).toEqual([
    'LocalConfirmation',
    'LocalPublishing',
    'LocalOverbooking',
    'LocalOffered',
    'LocalWithheld',
    'LocalBookingPolicy',
    'LocalHeldUntil',
    'LocalHoldProlonged',
    'LocalConfirmationDeadline',
    'LocalAlternative',
    'LocalOwnChanges',
  ]);
  const own = resolveConfig({ preset: 'isik', baseUrl: isik.baseUrl, profileBase: 'https://clinic.example/fhir' });
  expect(buildArtefacts(own).structureDefinitions.map(({ url }) => url)).toContain(artefactUri(own, 'LocalTermin'));
});
