import { expect, it } from '@jest/globals';
import { aClinic, aSlot, book, proposed, slotsOf } from '../../fixtures.ts';

it('two free slots for the same time are two places', async () => {
  const { schedule, slot, patient } = await aClinic();
  const second = await aSlot(schedule, 0, 30);
  expect((await book(proposed(patient, [slot]))).status).toBe(201);
  expect((await book(proposed(patient, [second]))).status).toBe(201);
  expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'busy 0-30']);
});
