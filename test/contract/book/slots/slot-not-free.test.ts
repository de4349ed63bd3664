import { expect, it } from '@jest/globals';
import { aClinic, appointmentsOn, aSlot, book, proposed, slotsOf } from '../../fixtures.ts';
import { issuesOf } from '../../http.ts';

it('the slot is no longer free: 409', async () => {
  const { schedule, slot, patient } = await aClinic();
  expect((await book(proposed(patient, [slot]))).status).toBe(201);
  const second = await book(proposed(patient, [slot]));
  expect([second.status, ...issuesOf(second)]).toEqual([409, 'slot-not-free Appointment.slot[0]']);
  expect(await appointmentsOn(slot)).toHaveLength(1);
  expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
});

it.each(['busy', 'busy-tentative', 'busy-unavailable', 'entered-in-error'] as const)(
  'a slot that staff have made %s is not free: 409',
  async (status) => {
    const { schedule, patient } = await aClinic();
    const slot = await aSlot(schedule, 60, 90, { status });
    const answer = await book(proposed(patient, [slot], { from: 60, to: 90 }));
    expect([answer.status, ...issuesOf(answer)]).toEqual([409, 'slot-not-free Appointment.slot[0]']);
  },
);
