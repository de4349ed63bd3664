import { describe, expect, it } from '@jest/globals';
import { aClinic, appointmentsOn, aSlot, book, proposed, simultaneously, slotsOf } from '../fixtures.ts';
import { issuesOf } from '../http.ts';

describe('simultaneous requests', () => {
  it('50 for one slot: one 201, 49 × 409, one Appointment stored', async () => {
    const { schedule, slot, patient } = await aClinic();
    const answers = await simultaneously(50, () => book(proposed(patient, [slot])));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, ...Array.from({ length: 49 }, () => 409)]);
    const refusals = answers.filter(({ status }) => status === 409).flatMap(issuesOf);
    expect(new Set(refusals)).toEqual(new Set(['slot-not-free Appointment.slot[0]']));
    expect(await appointmentsOn(slot)).toHaveLength(1);
    expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
  });

  it('24 for different slots of one schedule: 24 × 201', async () => {
    const { schedule, patient } = await aClinic();
    const slots = await simultaneously(24, (index) => aSlot(schedule, 60 + index * 10, 70 + index * 10));
    const answers = await simultaneously(24, (index) => {
      const slot = slots[index];
      return book(proposed(patient, slot ? [slot] : [], { from: 60 + index * 10, to: 70 + index * 10 }));
    });
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 24 }, () => 201));
  });
});
