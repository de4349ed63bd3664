import { expect, test } from '@jest/globals';
import type { Appointment, HealthcareService, Patient } from '@medplum/fhirtypes';
import { validateChange } from '../../../../core/booking/appointment/change.ts';
import { resolveConfig } from '../../../../core/config/resolve.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import { told } from '../../../lib/told.ts';
import {
  appointment,
  issuesOf,
  now,
  parameters,
  patient,
  plan,
  requestor,
  resourceParameter,
  schedule,
  slot,
  stateOf,
  config as withoutRules,
  written,
} from '../support.ts';

const configOf = (preset: string) => resolveConfig({ preset, baseUrl: withoutRules.baseUrl });
/** Stage 4 demands a name of every participant; the others recommend it. */
const config = configOf('isik4');
const anna: Patient = {
  ...patient,
  meta: { tag: [requestorTag(requestor, config)] },
  name: [{ family: 'Maiden' }, { use: 'official', prefix: ['Dr.'], given: ['Anna', 'Eva'], family: 'Muster' }],
};
const ct: HealthcareService = { resourceType: 'HealthcareService', id: 'ct', name: 'Computed tomography' };
const state = stateOf(schedule, anna, ct, slot('nine', '09:00', '09:30'));

const by = (...actors: object[]): Partial<Appointment> => ({
  participant: actors.map((actor) => ({ actor, status: 'accepted' as const })),
});

const booking = (body: unknown, given = state) => plan(body, given, { config });
const displays = (body: unknown, given = state) =>
  written(booking(body, given), 'Appointment')[0]?.participant.map(({ actor }) => actor?.display);

test('who takes part gets the name that the service knows, unless the request says one', () => {
  expect(displays(appointment(by({ reference: 'Patient/anna' }, { reference: 'HealthcareService/ct' })))).toEqual([
    'Dr. Anna Eva Muster',
    'Computed tomography',
  ]);
  expect(displays(appointment(by({ reference: 'Patient/anna', display: 'A. M.' })))).toEqual(['A. M.']);
});

test('who is handed over gets the name that was handed over; without one it is called what it is', () => {
  const kim = { resourceType: 'Patient', id: 'kim', name: [{ text: 'Kim' }] };
  const mother = { resourceType: 'RelatedPerson', patient: { reference: '#kim' }, name: [{ family: 'Muster' }] };
  const body = (submitted: object) =>
    parameters(
      resourceParameter('appt-resource', appointment(by({ reference: '#kim' }))),
      resourceParameter('patient', submitted),
      resourceParameter('related-person', mother),
    );
  expect(displays(body(kim))).toEqual(['Kim', 'Muster']);
  expect(displays(body({ ...kim, name: undefined }))).toEqual(['Patient', 'Muster']);
});

test('where the service does not know who it is the request has to say it', () => {
  const body = appointment(by({ reference: 'Patient/anna' }, { reference: 'Practitioner/unknown' }));
  expect(issuesOf(booking(body))).toEqual(['profile-violation Appointment.participant[1].actor.display']);
  const named = by({ reference: 'Patient/anna' }, { reference: 'Practitioner/unknown', display: 'Dr. Who' });
  expect(displays(appointment(named))).toEqual(['Dr. Anna Eva Muster', 'Dr. Who']);
});

test.each(['isik3', 'isik5', 'isik'])('%s: whoever is unknown to the service may stay without a name', (preset) => {
  const own = configOf(preset);
  const tagged = { ...anna, meta: { tag: [requestorTag(requestor, own)] } };
  const body = appointment(by({ reference: 'Patient/anna' }, { reference: 'Practitioner/unknown' }));
  const booked = plan(body, stateOf(schedule, tagged, slot('nine', '09:00', '09:30')), { config: own });
  expect(written(booked, 'Appointment')[0]?.participant.map(({ actor }) => actor?.display)).toEqual([
    'Dr. Anna Eva Muster',
    undefined,
  ]);
  const stored = { ...appointment(by({ reference: 'Patient/anna' })), id: 'a', status: 'booked' as const };
  const added = { status: 'accepted' as const, actor: { reference: 'Practitioner/p' } };
  const result = { ...stored, participant: [...stored.participant, added] };
  expect(told(validateChange(stored, result, 'requestor', new Map([['anna', anna]]), now, own))).toEqual([]);
});

test('a participant that a change adds says who it is; those from before may stay as they are', () => {
  const stored = { ...appointment(by({ reference: 'Patient/anna' })), id: 'a', status: 'booked' as const };
  const change = (...added: object[]) =>
    told(
      validateChange(
        stored,
        { ...stored, participant: [...(by(...added).participant ?? []), ...stored.participant] },
        'requestor',
        new Map([['anna', anna]]),
        now,
        config,
      ),
    );
  expect(change()).toEqual([]);
  expect(change({ reference: 'Practitioner/p', display: 'Dr. Who' })).toEqual([]);
  expect(change({ reference: 'Practitioner/p' })).toEqual([
    'profile-violation Appointment.participant[0].actor.display',
  ]);
});
