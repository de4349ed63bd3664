import { expect, it } from '@jest/globals';
import { aClinic, aSlot, book, proposed, slotsOf } from '../../fixtures.ts';

it('several consecutive slots are one booking', async () => {
  const { schedule, slot, patient } = await aClinic();
  const next = await aSlot(schedule, 30, 60);
  expect((await book(proposed(patient, [slot, next], { to: 60 }))).status).toBe(201);
  expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'busy 30-60']);
});
