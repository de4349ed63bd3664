import { expect, it } from '@jest/globals';
import type { Patient } from '@medplum/fhirtypes';
import { aClinic, aPatient, book, proposed, slotsOf } from '../fixtures.ts';
import { issuesOf, medplum } from '../http.ts';

it.each<[string, Partial<Patient>]>([
  ['inactive', { active: false }],
  ['merged', { link: [{ type: 'replaced-by', other: { display: 'the survivor' } }] }],
])('an %s patient is refused with 422', async (_, more) => {
  const { schedule, slot, patient } = await aClinic();
  const body = { ...patient, ...more };
  expect((await medplum('admin', 'PUT', `/Patient/${patient.id}`, { body })).status).toBe(200);
  const answer = await book(proposed(patient, [slot]));
  expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'patient-inactive Appointment.participant[0].actor']);
  expect(await slotsOf(schedule)).toEqual(['free 0-30']);
});

it('a deleted patient is refused with 422', async () => {
  const { slot, patient } = await aClinic();
  expect((await medplum('admin', 'DELETE', `/Patient/${patient.id}`)).status).toBe(200);
  const answer = await book(proposed(patient, [slot]));
  expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'patient-not-found Appointment.participant[0].actor']);
});

it("another requestor's patient is unknown: 422", async () => {
  const { slot } = await aClinic();
  const foreign = await aPatient('portal-b');
  const answer = await book(proposed(foreign, [slot]));
  expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'patient-not-found Appointment.participant[0].actor']);
});
