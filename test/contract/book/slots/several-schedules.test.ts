import { expect, it } from '@jest/globals';
import { aClinic, aSchedule, aSlot, book, proposed, slotsOf } from '../../fixtures.ts';
import { issuesOf } from '../../http.ts';

it('slots of several schedules at the same time are one booking', async () => {
  const { schedule: surgeon, slot, patient } = await aClinic();
  const room = await aSchedule();
  const inRoom = await aSlot(room, 0, 60);
  expect((await book(proposed(patient, [slot, inRoom]))).status).toBe(201);
  expect(await slotsOf(surgeon)).toEqual(['busy 0-30']);
  expect(await slotsOf(room)).toEqual(['busy 0-30', 'free 30-60']);
});

it('one of them taken: 409, and the other stays free', async () => {
  const { schedule: surgeon, slot, patient } = await aClinic();
  const room = await aSchedule();
  const inRoom = await aSlot(room, 0, 30, { status: 'busy' });
  const answer = await book(proposed(patient, [slot, inRoom]));
  expect([answer.status, ...issuesOf(answer)]).toEqual([409, 'slot-not-free Appointment.slot[1]']);
  expect(await slotsOf(surgeon)).toEqual(['free 0-30']);
});
