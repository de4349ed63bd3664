import { expect, test } from '@jest/globals';
import { presets } from '../../../core/config/presets.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { capabilityStatement } from '../../../gateway/interactions/capability-statement.ts';
import { isServedType } from '../../../gateway/served-types.ts';

const statementOf = (preset: string) =>
  capabilityStatement(resolveConfig({ preset, baseUrl: 'https://clinic.example/fhir/R4' }), '2027-01-01');

const resourceOf = (preset: string, type: string) =>
  statementOf(preset).rest?.[0]?.resource?.find((one) => one.type === type);

const roles5 = [
  'https://gematik.de/fhir/isik/CapabilityStatement/ISiKCapabilityStatementTerminRepositoryRolle',
  'https://gematik.de/fhir/isik/CapabilityStatement/ISiKCapabilityStatementTerminologieRolle',
  'https://gematik.de/fhir/isik/CapabilityStatement/ISiKCapabilityStatementStammdatenRolle',
];

test.each([
  ['default', undefined],
  ['isik3', ['https://gematik.de/fhir/isik/v3/Terminplanung/CapabilityStatement/terminplanung-server']],
  ['isik4', ['https://gematik.de/fhir/isik/CapabilityStatement/ISiKCapabilityStatementTerminplanungServer']],
  ['isik5', roles5],
  [
    'isik',
    [...roles5, 'https://gematik.de/fhir/isik/CapabilityStatement/ISiKCapabilityStatementTerminSubscriptionRolle'],
  ],
])('with the preset %s the service says which roles it carries out', (preset, roles) => {
  expect(statementOf(preset).instantiates).toEqual(roles);
});

test.each([
  ['default', 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/backport-subscription-status-r4'],
  ['isik5', 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/backport-subscription-status-r4'],
  ['isik', 'https://gematik.de/fhir/isik/StructureDefinition/BackportSubscriptionStatusR4Fixed'],
])('with the preset %s it names the profiles of notifications', (preset, profile) => {
  expect(resourceOf(preset, 'Parameters')).toEqual({ type: 'Parameters', supportedProfile: [profile] });
  expect(resourceOf(preset, 'Bundle')?.supportedProfile).toEqual([
    profile.replace('subscription-status', 'subscription-notification').replace('Status', 'Notification'),
  ]);
});

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

test('profiles are those of the stage: its own, its publisher’s, and none where there is none', () => {
  expect(resourceOf('isik3', 'HealthcareService')?.supportedProfile).toEqual([
    'https://gematik.de/fhir/isik/v3/Terminplanung/StructureDefinition/ISiKMedizinischeBehandlungseinheit',
  ]);
  expect(resourceOf('isik', 'Appointment')?.supportedProfile).toEqual([
    'https://gematik.de/fhir/isik/StructureDefinition/ISiKTermin',
  ]);
  expect(resourceOf('default', 'HealthcareService')?.supportedProfile).toBeUndefined();
});

test.each([
  ['default', 'https://example.org/fhir/OperationDefinition/book'],
  ['isik3', 'https://gematik.de/fhir/isik/v3/Terminplanung/OperationDefinition/AppointmentBook'],
  ['isik', 'https://gematik.de/fhir/isik/OperationDefinition/AppointmentBook'],
])('with the preset %s $book is defined by %s', (preset, definition) => {
  expect(resourceOf(preset, 'Appointment')?.operation).toContainEqual({ name: 'book', definition });
});
