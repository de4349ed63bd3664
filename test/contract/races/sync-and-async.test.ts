import { expect, it } from '@jest/globals';
import { aClinic, appointmentsOn, book, proposed, simultaneously, slotsOf } from '../fixtures.ts';
import { inconsistencies } from './consistent.ts';
import { bookLater, counts, RUNNERS } from './support.ts';

it('50 requests for one slot, every second one asynchronous: one is booked, the others get 409', async () => {
  const { schedule, slot, patient } = await aClinic();
  const answers = await simultaneously(RUNNERS, (index) =>
    index % 2 === 0 ? book(proposed(patient, [slot])) : bookLater(proposed(patient, [slot])),
  );
  const { 409: refused, ...booked } = counts(answers);
  expect(refused).toBe(RUNNERS - 1);
  expect(Object.values(booked)).toEqual([1]);
  expect(await appointmentsOn(slot)).toHaveLength(1);
  expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
  expect(await inconsistencies(schedule)).toEqual([]);
});
