import { expect, test } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { isPublishedElsewhere, presets } from '../../../core/config/presets.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';

const baseUrl = 'https://clinic.example/fhir/R4';

test('the default preset carries the names of the specification', () => {
  const config = resolveConfig({ baseUrl });
  expect(artefactUri(config, 'LocalTermin')).toBe('https://example.org/fhir/StructureDefinition/LocalTermin');
  expect(config).toMatchObject(presets.default);
});

test('the preset isik carries the addresses of ISiK Terminplanung', () => {
  const config = resolveConfig({ preset: 'isik', baseUrl });
  expect(artefactUri(config, 'LocalTermin')).toBe('https://gematik.de/fhir/isik/StructureDefinition/ISiKTermin');
  expect(artefactUri(config, 'LocalBookingError')).toBe('https://gematik.de/fhir/isik/CodeSystem/LocalBookingError');
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
