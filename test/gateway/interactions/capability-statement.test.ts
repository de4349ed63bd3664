import { expect, test } from '@jest/globals';
import type { CapabilityStatementRestResource } from '@medplum/fhirtypes';
import { presets } from '../../../core/config/presets.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { capabilityStatement, serviceVersion } from '../../../gateway/interactions/capability-statement.ts';
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

test('it says what the service is, and how one gets in', () => {
  const statement = capabilityStatement(
    resolveConfig({ baseUrl: 'https://clinic.example/fhir/R4' }),
    '2027-01-01',
    true,
  );
  const { software, implementation, rest = [], ...more } = statement;
  expect(more).toEqual({
    resourceType: 'CapabilityStatement',
    url: 'https://example.org/fhir/CapabilityStatement/AppointmentBooking',
    status: 'active',
    date: '2027-01-01',
    kind: 'instance',
    fhirVersion: '4.0.1',
    format: ['application/fhir+json', 'json', 'application/fhir+xml', 'xml'],
    patchFormat: ['application/fhir+json', 'application/fhir+xml', 'application/json-patch+json'],
  });
  expect(software).toEqual({ name: 'Appointment booking for Medplum', version: serviceVersion });
  expect(implementation).toEqual({
    description: 'Appointment repository with the operation $book',
    url: 'https://clinic.example/fhir/R4',
  });
  const [{ resource: _, ...server } = {}] = rest;
  const service = (code: string) => ({
    coding: [{ system: 'http://terminology.hl7.org/CodeSystem/restful-security-service', code }],
  });
  expect([rest.length, server]).toEqual([
    1,
    {
      mode: 'server',
      interaction: [{ code: 'batch' }],
      security: {
        cors: true,
        extension: [
          {
            url: 'http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris',
            extension: [{ url: 'token', valueUri: 'https://clinic.example/oauth2/token' }],
          },
        ],
        service: [service('SMART-on-FHIR'), service('OAuth')],
      },
    },
  ]);
});

test('scripts of other origins may call it only where that is said', () => {
  expect(statementOf('default').rest?.[0]?.security?.cors).toBe(false);
});

/** What is said of a type, without its search parameters. */
const saidOf = (type: string) => {
  const { searchParam: _, ...said }: Partial<CapabilityStatementRestResource> = resourceOf('default', type) ?? {};
  return said;
};
const always = { versioning: 'versioned', conditionalRead: 'not-match', referencePolicy: ['literal'] };
const interactions = (...codes: string[]) => codes.map((code) => ({ code }));

test('of a type it says what can be done with it, and how', () => {
  expect(saidOf('Patient')).toMatchObject({
    ...always,
    interaction: interactions('read', 'vread', 'history-instance', 'search-type', 'create', 'update'),
    readHistory: true,
    updateCreate: false,
    conditionalCreate: true,
  });
  expect(saidOf('Slot')).toEqual({
    ...always,
    type: 'Slot',
    supportedProfile: ['https://example.org/fhir/StructureDefinition/LocalSlot'],
    interaction: interactions('read', 'search-type'),
    readHistory: false,
    searchInclude: ['Slot:schedule'],
    searchRevInclude: ['Appointment:slot'],
  });
  expect(saidOf('ValueSet')).toEqual({
    ...always,
    type: 'ValueSet',
    interaction: interactions('read', 'search-type'),
    readHistory: false,
  });
});

test('it names the topics that can be subscribed to, and the operations on Subscriptions', () => {
  const { extension, operation } = saidOf('Subscription');
  const url =
    'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/capabilitystatement-subscriptiontopic-canonical';
  const topic = (name: string) => ({ url, valueCanonical: `https://example.org/fhir/SubscriptionTopic/${name}` });
  expect(extension).toEqual([topic('appointment-update'), topic('appointment-cancel')]);
  const ofBackport = (name: string) => ({
    name,
    definition: `http://hl7.org/fhir/uv/subscriptions-backport/OperationDefinition/backport-subscription-${name}`,
  });
  expect(operation).toEqual([
    ...['status', 'events', 'get-ws-binding-token'].map(ofBackport),
    { name: 'deliver', definition: 'https://example.org/fhir/OperationDefinition/deliver' },
  ]);
});

test('what it names itself can be read, and searched for by its URL', () => {
  expect(resourceOf('default', 'StructureDefinition')).toEqual({
    type: 'StructureDefinition',
    interaction: interactions('read', 'search-type'),
    versioning: 'versioned',
    readHistory: false,
    searchParam: [{ name: 'url', definition: 'http://hl7.org/fhir/SearchParameter/conformance-url', type: 'uri' }],
  });
});
