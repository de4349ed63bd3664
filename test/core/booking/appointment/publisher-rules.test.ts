import { describe, expect, test } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { validateChange } from '../../../../core/booking/appointment/change.ts';
import { publisherIssues } from '../../../../core/booking/appointment/profile.ts';
import { presets } from '../../../../core/config/presets.ts';
import { resolveConfig } from '../../../../core/config/resolve.ts';
import { told } from '../../../lib/told.ts';

const configOf = (preset: string) => resolveConfig({ preset, baseUrl: 'https://clinic.example/fhir/R4' });

const ihe = { system: 'http://ihe-d.de/CodeSystems/AerztlicheFachrichtungen', code: 'NEUR' };
const other = { system: 'https://example.org/specialties', code: 'neurology' };
const type = { coding: [{ system: 'https://example.org/services', code: 'ct' }] };

const appointment = (more: object = {}): Appointment => ({
  resourceType: 'Appointment',
  id: 'a',
  status: 'booked',
  serviceType: [type],
  participant: [{ status: 'accepted', actor: { reference: 'Patient/p' } }],
  ...more,
});

const issuesOf = (preset: string, value: Appointment) =>
  told(publisherIssues({ value, path: 'Appointment' }, configOf(preset)));

const isik = Object.keys(presets).filter((name) => name !== 'default');

describe.each(isik)('with the preset %s', (preset) => {
  test('priority and reason for a cancellation are bound', () => {
    const { system = '', codes = [] } = configOf(preset).appointmentRules?.cancelationReason ?? {};
    for (const code of codes) {
      expect(issuesOf(preset, appointment({ cancelationReason: { coding: [other, { system, code }] } }))).toEqual([]);
    }
    for (const reason of [{ text: 'mood' }, { coding: [{ system, code: 'mood' }] }, { coding: [{ code: 'pat' }] }]) {
      const found = issuesOf(preset, appointment({ cancelationReason: reason }));
      expect(found).toEqual(['profile-violation Appointment.cancelationReason']);
    }
  });

  test('a change adds nothing that the rules forbid, and what was so before can still be cancelled', () => {
    const config = configOf(preset);
    const patients = new Map([['p', { resourceType: 'Patient' as const, id: 'p', active: true }]]);
    const change = (stored: Appointment, more: object) =>
      validateChange(stored, { ...stored, ...more }, 'requestor', patients, 0, config).map(
        ({ expression }) => expression,
      );
    const old = appointment({ serviceType: undefined });
    expect(change(old, { status: 'cancelled' })).toEqual([]);
    expect(change(appointment(), { serviceType: undefined })).toEqual(['Appointment.serviceType']);
    expect(change(appointment(), { cancelationReason: { coding: [other] } })).toEqual([
      'Appointment.cancelationReason',
    ]);
  });
});

const department = { system: 'http://fhir.de/CodeSystem/dkgev/Fachabteilungsschluessel-erweitert', code: '3600' };
const author = { system: 'urn:oid:1.2.276.0.76.5.114', code: '010' };

test.each([
  ['isik3', [[other]], []],
  ['isik3', [[ihe], [ihe]], []],
  ['isik3', [[ihe, ihe]], ['Appointment.specialty[0]']],
  ['isik3', [[ihe, department, author]], []],
  ['isik3', [[author, author]], ['Appointment.specialty[0]']],
  ['isik3', [[ihe], [department, department]], ['Appointment.specialty[1]']],
  ['isik3', [undefined], ['Appointment.specialty[0]']],
  ['isik3', [[ihe], undefined], ['Appointment.specialty[1]']],
  ['isik4', [[other]], ['Appointment.specialty[0]']],
  ['isik4', [[ihe], [ihe]], []],
  ['isik4', [[ihe], undefined], ['Appointment.specialty[1]']],
  ['isik4', [[ihe, department, department]], ['Appointment.specialty[0]']],
  ['isik5', [[ihe, other]], []],
  ['isik5', [[ihe], [other]], ['Appointment.specialty[1]']],
  ['isik5', [[ihe, ihe]], ['Appointment.specialty[0]']],
  ['isik5', [[ihe, author, author]], []],
  ['isik', [[other]], ['Appointment.specialty[0]']],
  ['isik', [undefined], ['Appointment.specialty[0]']],
])('%s: the specialties %j', (preset, specialties, expected) => {
  const specialty = specialties.map((coding) => (coding ? { coding } : { text: 'Neurology' }));
  const found = issuesOf(preset, appointment({ specialty }));
  expect(found).toEqual(expected.map((path) => `profile-violation ${path}`));
});

test.each([
  ['isik3', 'https://gematik.de/fhir/isik/v3/Terminplanung/StructureDefinition/ISiKNachrichtExtension'],
  ['isik4', 'https://gematik.de/fhir/isik/StructureDefinition/ISiKNachrichtExtension'],
])('%s: a message is referred to, not written into the appointment', (preset, url) => {
  const sent = (...extension: object[]) => issuesOf(preset, appointment({ extension }));
  const reference = { url, valueReference: { reference: 'Communication/1' } };
  const text = { url, valueString: 'Please come sober' };
  expect(sent(reference, reference, { url: 'https://example.org/other', valueString: 'x' })).toEqual([]);
  expect(sent(reference, text)).toEqual(['profile-violation Appointment.extension[1].value']);
});
