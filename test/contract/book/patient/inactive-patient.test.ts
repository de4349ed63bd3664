import { expect, it } from '@jest/globals';
import type { Patient } from '@medplum/fhirtypes';
import { aClinic, aPatient, book, parameters, proposed, slotsOf } from '../../fixtures.ts';
import { issuesOf, medplum } from '../../http.ts';

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

it('an inactive patient found again by the parameter patient is refused with 422', async () => {
  const { schedule, slot, patient } = await aClinic();
  const body = { ...patient, active: false };
  expect((await medplum('admin', 'PUT', `/Patient/${patient.id}`, { body })).status).toBe(200);
  const { participant: _, ...appointment } = proposed(patient, [slot]);
  const again = { resourceType: 'Patient', identifier: patient.identifier };
  const answer = await book(parameters(appointment, ['patient', again]));
  expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'patient-inactive Parameters.parameter[1].resource']);
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
