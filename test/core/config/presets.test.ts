import { expect, test } from '@jest/globals';
import { isPublishedElsewhere, presets } from '../../../core/config/presets.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { type Artefact, artefacts, artefactUri } from '../../../core/fhir/artefacts.ts';

const baseUrl = 'https://clinic.example/fhir/R4';

test.each([
  ['isik5', 'appointment-cancel', 'https://gematik.de/fhir/isik/SubscriptionTopic/appointment-cancel'],
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

test.each(['localhost:8080/fhir/R4', 'urn:uuid:1', 'https://clinic.example/fhir/R4?a=1', 'https://clinic.example/#b'])(
  'the gateway and the page of messages are not at %s',
  (wrong) => {
    expect(() => resolveConfig({ baseUrl: wrong, messages: { page: wrong } })).toThrow(/baseUrl.*messages\.page/s);
  },
);
