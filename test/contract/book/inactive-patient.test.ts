import { expect, it } from '@jest/globals';
import { aClinic, aPatient, book, proposed, slotsOf } from '../fixtures.ts';
import { issuesOf, medplum } from '../http.ts';

it.each([
  ['inactive', { active: false }],
  ['merged', { link: [{ type: 'replaced-by' as const, other: { display: 'the survivor' } }] }],
])('an %s patient is refused with 422', async (_, more) => {
  const { schedule, slot } = await aClinic();
  const patient = await aPatient('portal-a', more);
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
