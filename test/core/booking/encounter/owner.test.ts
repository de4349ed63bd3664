import { expect, test } from '@jest/globals';
import type { Appointment, Encounter } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { appointmentsOf, withOwners } from '../../../../core/booking/encounter/owner.ts';
import { resolveConfig } from '../../../../core/config/resolve.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';

const config = resolveConfig({ baseUrl: 'https://clinic.example/fhir/R4' });

const appointment = (id: string, patient: string, owner?: string): Appointment => ({
  resourceType: 'Appointment',
  id,
  status: 'booked',
  ...(owner && { meta: { tag: [requestorTag(owner, config)] } }),
  participant: [{ status: 'accepted', actor: { reference: `Patient/${patient}` } }],
});

const encounter = (subject: string | undefined, ...appointments: string[]): Encounter => ({
  resourceType: 'Encounter',
  id: 'e',
  status: 'planned',
  class: { code: 'IMP' },
  ...(subject && { subject: { reference: subject } }),
  appointment: appointments.map((reference) => ({ reference })),
});

const tagsOf = ({ meta }: Encounter) => (meta?.tag ?? []).map(({ code }) => code);

test('the requestor of the appointment sees the encounter of its patient', () => {
  const shown = withOwners(encounter('Patient/p', 'Appointment/a'), [appointment('a', 'p', 'portal-a')], config);
  expect(tagsOf(shown)).toEqual(['portal-a']);
});

test('whoever else takes part in the appointment', () => {
  const alone = appointment('a', 'p', 'portal-a');
  const doctor = { status: 'accepted', actor: { reference: 'Practitioner/d' } } as const;
  const together: Appointment = { ...alone, participant: [doctor, ...alone.participant] };
  expect(tagsOf(withOwners(encounter('Patient/p', 'Appointment/a'), [together], config))).toEqual(['portal-a']);
});

test.each([
  ['the appointment of another patient', encounter('Patient/other', 'Appointment/a')],
  ['no subject', encounter(undefined, 'Appointment/a')],
  ['a group as its subject', encounter('Group/p', 'Appointment/a')],
  ['no appointment', encounter('Patient/p')],
  ['an appointment that was not read', encounter('Patient/p', 'Appointment/b')],
  ['an appointment of another server', encounter('Patient/p', 'https://other.example/fhir/R4/Appointment/a')],
])('nobody sees an encounter with %s', (_, one) => {
  expect(withOwners(one, [appointment('a', 'p', 'portal-a')], config)).toBe(one);
});

test('an appointment that the clinic has made shows its encounter to nobody', () => {
  const one = encounter('Patient/p', 'Appointment/a');
  expect(withOwners(one, [appointment('a', 'p')], config)).toBe(one);
});

test('addresses and versions do not matter, and an appointment that is named twice counts once', () => {
  const one = encounter(
    'https://clinic.example/fhir/R4/Patient/p',
    'Appointment/a/_history/2',
    'https://clinic.example/fhir/R4/Appointment/a',
  );
  expect(appointmentsOf(one, config)).toEqual(['Appointment/a']);
  expect(tagsOf(withOwners(one, [appointment('a', 'p', 'portal-a')], config))).toEqual(['portal-a']);
});

const ids = fc.constantFrom('1', '2', '3');
const owners = fc.option(fc.constantFrom('portal-a', 'portal-b', 'portal-c'), { nil: undefined });
const kept = { system: 'https://example.org/tags', code: 'kept' };

test('whatever tags an encounter has had, it has those of its appointments’ requestors alone, and the others stay', () => {
  fc.assert(
    fc.property(
      ids,
      fc.uniqueArray(ids),
      fc
        .array(fc.record({ id: ids, patient: ids, owner: owners }))
        .map((all) => [...new Map(all.map((one) => [one.id, one])).values()]),
      fc.uniqueArray(fc.constantFrom('portal-a', 'portal-b', 'stranger')),
      (subject, named, stored, before) => {
        const one: Encounter = {
          ...encounter(`Patient/${subject}`, ...named.map((id) => `Appointment/${id}`)),
          meta: { tag: [...before.map((owner) => requestorTag(owner, config)), kept] },
        };
        const appointments = stored.map(({ id, patient, owner }) => appointment(id, patient, owner));
        const shown = withOwners(one, appointments, config);
        const expected = stored.filter(({ id, patient }) => named.includes(id) && patient === subject);
        const wanted = new Set(expected.flatMap(({ owner }) => owner ?? []));
        expect(new Set(tagsOf(shown))).toEqual(new Set([...wanted, 'kept']));
        expect(withOwners(shown, appointments, config)).toBe(shown);
      },
    ),
  );
});
