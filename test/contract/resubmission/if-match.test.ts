import { expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { aClinic, aSlot, book, minutes, proposed, slotsOf, succeeded } from '../fixtures.ts';
import { issuesOf } from '../http.ts';
import { read } from '../patch/fixtures.ts';
import { edit } from '../status/fixtures.ts';

/** An appointment, and how it would be moved by an hour. */
async function aMove() {
  const clinic = await aClinic();
  const later = await aSlot(clinic.schedule, 60, 90);
  const booked = succeeded('Appointment', await book(proposed(clinic.patient, [clinic.slot])));
  const body: Appointment = {
    ...proposed(clinic.patient, [later], { from: 60, to: 90 }),
    id: booked.id ?? '',
  };
  return { ...clinic, booked, body };
}

const matching = (version: string | undefined) => ({ 'if-match': `W/"${version}"` });

it('with the current version in If-Match an appointment is moved', async () => {
  const { booked, body, schedule } = await aMove();
  const answer = await book(body, 'portal-a', matching(booked.meta?.versionId));
  expect([answer.status, succeeded('Appointment', answer).id]).toEqual([201, booked.id]);
  expect(await slotsOf(schedule)).toEqual(['free 0-30', 'busy 60-90']);
});

it('with another version it is not: 412, and nothing has changed', async () => {
  const { booked, body, schedule } = await aMove();
  succeeded('Appointment', await edit(booked.id ?? '', { patientInstruction: 'Come fasting' }));
  const answer = await book(body, 'portal-a', matching(booked.meta?.versionId));
  expect([answer.status, issuesOf(answer)]).toEqual([412, ['version-conflict Appointment.id']]);
  const after = await read(booked.id ?? '');
  expect([after.start, after.patientInstruction]).toEqual([minutes(0), 'Come fasting']);
  expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'free 60-90']);
  expect((await book(body, 'portal-a', matching(after.meta?.versionId))).status).toBe(201);
});

it('of an appointment that is not moved: 412, and nothing is booked', async () => {
  const { patient, slot, schedule } = await aClinic();
  const answer = await book(proposed(patient, [slot]), 'portal-a', matching('1'));
  expect([answer.status, issuesOf(answer)]).toEqual([412, ['version-conflict Appointment.id']]);
  expect(await slotsOf(schedule)).toEqual(['free 0-30']);
});

it.each([
  ['without its quotes', { 'if-match': '1' }],
  ['together with respond-async', { 'if-match': 'W/"1"', prefer: 'respond-async' }],
])('%s: 400, and nothing is booked', async (_, headers) => {
  const { patient, slot, schedule } = await aClinic();
  const answer = await book(proposed(patient, [slot]), 'portal-a', headers);
  expect([answer.status, issuesOf(answer)]).toEqual([400, ['malformed-request http.If-Match']]);
  expect(await slotsOf(schedule)).toEqual(['free 0-30']);
});
