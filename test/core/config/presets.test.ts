import { expect, test } from '@jest/globals';
import { type Artefact, artefacts, artefactUri } from '../../../core/config/config.ts';
import { isPublishedElsewhere, presets } from '../../../core/config/presets.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';

const baseUrl = 'https://clinic.example/fhir/R4';

test('the default preset carries the names of the specification', () => {
  const config = resolveConfig({ baseUrl });
  expect(artefactUri(config, 'LocalTermin')).toBe('https://example.org/fhir/StructureDefinition/LocalTermin');
  expect(config).toMatchObject(presets.default);
});

test.each([
  ['isik3', 'LocalTermin', 'https://gematik.de/fhir/isik/v3/Terminplanung/StructureDefinition/ISiKTermin'],
  ['isik3', 'book', 'https://gematik.de/fhir/isik/v3/Terminplanung/OperationDefinition/AppointmentBook'],
  ['isik3', 'LocalPatient', 'https://gematik.de/fhir/isik/v3/Basismodul/StructureDefinition/ISiKPatient'],
  [
    'isik3',
    'LocalTerminPriorityExtension',
    'https://gematik.de/fhir/isik/v3/Terminplanung/StructureDefinition/ISiKTerminPriorityExtension',
  ],
  ['isik3', 'appointment-update', 'https://example.org/fhir/SubscriptionTopic/appointment-update'],
  ['isik4', 'LocalTermin', 'https://gematik.de/fhir/isik/StructureDefinition/ISiKTermin'],
  ['isik4', 'LocalSubscriptionTermin', 'https://example.org/fhir/StructureDefinition/LocalSubscriptionTermin'],
  ['isik5', 'appointment-update', 'https://gematik.de/fhir/isik/SubscriptionTopic/appointment-change'],
  ['isik5', 'appointment-cancel', 'https://gematik.de/fhir/isik/SubscriptionTopic/appointment-cancel'],
  ['isik', 'appointment-update', 'https://gematik.de/fhir/isik/SubscriptionTopic/appointment-update'],
  ['isik', 'LocalQuestionnaireResponse', 'https://gematik.de/fhir/isik/StructureDefinition/ISiKFormularDaten'],
  ['isik', 'book', 'https://gematik.de/fhir/isik/OperationDefinition/AppointmentBook'],
  ['isik', 'hold', 'https://example.org/fhir/OperationDefinition/hold'],
] as const)('the preset %s has %s at %s', (preset, artefact, uri) => {
  expect(artefactUri(resolveConfig({ preset, baseUrl }), artefact)).toBe(uri);
});

test.each(Object.keys(presets))('with the preset %s nothing of the service stands under a publisher', (preset) => {
  const config = resolveConfig({ preset, baseUrl, localBase: 'https://clinic.example/fhir' });
  const own = (Object.keys(artefacts) as Artefact[]).map((name) => artefactUri(config, name));
  expect(own.filter((uri) => uri.includes('gematik')).every(isPublishedElsewhere)).toBe(true);
  expect(own).toContain('https://clinic.example/fhir/CodeSystem/LocalRequestor');
});

test('an installation can keep its own artefacts where they have been', () => {
  const config = resolveConfig({ preset: 'isik', baseUrl, localBase: 'https://gematik.de/fhir/isik' });
  expect(artefactUri(config, 'LocalRequestor')).toBe('https://gematik.de/fhir/isik/CodeSystem/LocalRequestor');
});

test('the preset isik carries the addresses of ISiK Terminplanung', () => {
  const config = resolveConfig({ preset: 'isik', baseUrl });
  expect(artefactUri(config, 'LocalTermin')).toBe('https://gematik.de/fhir/isik/StructureDefinition/ISiKTermin');
  expect(artefactUri(config, 'LocalBookingError')).toBe('https://example.org/fhir/CodeSystem/LocalBookingError');
  expect(config).toMatchObject({
    metaTagSystem: 'http://fhir.de/CodeSystem/common-meta-tag-de',
    contextTypeSystem: 'https://gematik.de/fhir/isik/CodeSystem/ContextType',
    resourceTypesSystem: 'http://hl7.org/fhir/resource-types',
    terminologySystem: 'http://snomed.info/sct',
  });
});

test('what the file says wins over the preset', () => {
  const config = resolveConfig({
    preset: 'isik',
    baseUrl,
    profileBase: 'https://clinic.example/fhir',
    names: { LocalSlot: 'OurSlot' },
  });
  expect(artefactUri(config, 'LocalSlot')).toBe('https://clinic.example/fhir/StructureDefinition/OurSlot');
  expect(artefactUri(config, 'LocalTermin')).toBe('https://clinic.example/fhir/StructureDefinition/ISiKTermin');
});

test('a topic cannot have the name of a resource type', () => {
  const named = (name: string) => () => resolveConfig({ baseUrl, names: { 'appointment-update': name } });
  expect(named('Appointment')).toThrow(/small letter/);
  expect(named('our-updates')).not.toThrow();
});

test('days are those of UTC, or of the preset, or of the file; so is what becomes of unknown search parameters', () => {
  expect(resolveConfig({ baseUrl })).toMatchObject({ timeZone: 'UTC', handling: 'strict' });
  expect(resolveConfig({ baseUrl, preset: 'isik' })).toMatchObject({ timeZone: 'Europe/Berlin', handling: 'lenient' });
  const own = { timeZone: 'Europe/Vienna', handling: 'strict' };
  expect(resolveConfig({ baseUrl, preset: 'isik', ...own })).toMatchObject(own);
});

test('a time zone that does not exist is refused', () => {
  expect(() => resolveConfig({ baseUrl, timeZone: 'Europe/Atlantis' })).toThrow(/IANA.*timeZone/s);
});

test('an unknown preset is refused with the presets that exist', () => {
  expect(() => resolveConfig({ preset: 'other', baseUrl })).toThrow(/default.*isik/);
});

test('what a preset takes over from a publisher is known by its address', () => {
  expect(isPublishedElsewhere('https://gematik.de/fhir/isik/StructureDefinition/ISiKTermin')).toBe(true);
  expect(isPublishedElsewhere('https://gematik.de/fhir/isik/StructureDefinition/LocalConfirmation')).toBe(false);
  expect(isPublishedElsewhere('https://example.org/fhir/StructureDefinition/LocalTermin')).toBe(false);
});
