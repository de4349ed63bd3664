import { expect, test } from '@jest/globals';
import { validateResource } from '@medplum/core';
import { presets } from '../../core/config/presets.ts';
import { resolveConfig } from '../../core/config/resolve.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
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

test.each(Object.keys(presets))('%s: code systems and value sets have what ISiK demands of them', (preset) => {
  const own = resolveConfig({ preset, baseUrl: isik.baseUrl });
  const { codeSystems, valueSets } = buildArtefacts(own);
  for (const { url, version, name, concept } of codeSystems) {
    expect([url, version, name].every(Boolean)).toBe(true);
    expect(concept?.length).toBeGreaterThan(0);
    expect(concept?.every(({ code, display }) => code && display)).toBe(true);
  }
  expect(valueSets).toHaveLength(3);
  for (const { url, version, name, useContext, expansion, compose } of valueSets) {
    expect([url, version, name, expansion?.timestamp].every(Boolean)).toBe(true);
    expect(useContext?.map(({ code, valueCodeableConcept }) => [code, valueCodeableConcept?.coding?.[0]])).toEqual(
      (name?.includes('PayerKinds') ? ['Slot'] : ['HealthcareService', 'Schedule']).map((type) => [
        { system: 'http://terminology.hl7.org/CodeSystem/usage-context-type', code: 'focus' },
        { system: 'http://hl7.org/fhir/resource-types', code: type },
      ]),
    );
    const system = compose?.include[0]?.system;
    const codes = codeSystems.find((one) => one.url === system)?.concept ?? [];
    expect(expansion?.contains).toEqual(
      codes.map((codeSystemConcept) => ({ system, version: '0.1.0', ...codeSystemConcept })),
    );
  }
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
    'LocalPortal',
    'LocalSlotOffer',
    'LocalReservation',
    'LocalBookingPolicy',
    'LocalHeldUntil',
    'LocalHoldProlonged',
    'LocalReplacedBy',
    'LocalOffer',
    'LocalPosition',
    'LocalConfirmationDeadline',
    'LocalSubmittedElements',
    'LocalAlternative',
    'LocalVisit',
    'LocalVisitStep',
    'LocalOwnChanges',
    'LocalMessages',
    'LocalPayerKind',
  ]);
  const own = resolveConfig({ preset: 'isik', baseUrl: isik.baseUrl, profileBase: 'https://clinic.example/fhir' });
  expect(buildArtefacts(own).structureDefinitions.map(({ url }) => url)).toContain(artefactUri(own, 'LocalTermin'));
});
