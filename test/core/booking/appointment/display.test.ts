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
  patient,
  plan,
  requestor,
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
