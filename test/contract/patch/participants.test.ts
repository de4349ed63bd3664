import { expect, it } from '@jest/globals';
import { issuesOf } from '../http.ts';
import { base } from '../installation.ts';
import { aBooking, patch, read } from './fixtures.ts';

const adding = (actor: object) => [{ op: 'add', path: '/participant/-', value: { actor, status: 'accepted' } }];

it.each([
  'Appointment/1',
  'PRACTITIONER/1',
  'Group/1',
  'https://elsewhere.example/fhir/Practitioner/1',
  'Practitioner/../1',
  '#nobody',
])('a participant %s is refused (400), as by $book', async (reference) => {
  const { id, booked } = await aBooking();
  const answer = await patch(id, adding({ reference }));
  expect([answer.status, issuesOf(answer)]).toEqual([400, ['patch-invalid Appointment.participant[1].actor']]);
  expect((await read(id)).participant).toEqual(booked.participant);
});

it.each(['PATIENT/1', 'patient/1', 'https://elsewhere.example/fhir/PATIENT/1'])(
  'a participant %s counts as a patient (400)',
  async (reference) => {
    const { id } = await aBooking();
    const answer = await patch(id, adding({ reference }));
    expect([answer.status, issuesOf(answer)]).toEqual([400, ['immutable-element Appointment.participant[1].actor']]);
  },
);

it('an actor without a reference is refused (400), one of the service is stored without its address', async () => {
  const { id } = await aBooking();
  const answer = await patch(id, adding({ display: 'Dr. Who' }));
  expect([answer.status, issuesOf(answer)]).toEqual([400, ['patch-invalid Appointment.participant[1].actor']]);
  expect((await patch(id, adding({ reference: `${base}/Location/1` }))).status).toBe(200);
  expect((await read(id)).participant.at(-1)?.actor?.reference).toBe('Location/1');
});
