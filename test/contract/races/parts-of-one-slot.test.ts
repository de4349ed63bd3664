import { expect, it } from '@jest/globals';
import { aClinic, book, minutes, proposed, simultaneously, slotsOf } from '../fixtures.ts';
import { inconsistencies } from './consistent.ts';
import { bookLater, counts, RUNNERS } from './support.ts';

const LENGTH = 10;

it.each([
  ['in order', (index: number) => index],
  ['all over it', (index: number) => (index * 23) % RUNNERS],
])('50 requests for different parts of one long free slot (%s): all are booked', async (_, place) => {
  const { schedule, slot, patient } = await aClinic({}, { end: minutes(RUNNERS * LENGTH) });
  const answers = await simultaneously(RUNNERS, (index) => {
    const from = place(index) * LENGTH;
    return book(proposed(patient, [slot], { from, to: from + LENGTH }));
  });
  expect(counts(answers)).toEqual({ 201: RUNNERS });
  const parts = Array.from({ length: RUNNERS }, (_unused, index) => `busy ${index * LENGTH}-${(index + 1) * LENGTH}`);
  expect(await slotsOf(schedule)).toEqual(parts);
  expect(await inconsistencies(schedule)).toEqual([]);
});

it('sync and async requests for different parts: all are booked', async () => {
  const { schedule, slot, patient } = await aClinic({}, { end: minutes(RUNNERS * LENGTH) });
  const answers = await simultaneously(RUNNERS, (index) => {
    const body = proposed(patient, [slot], { from: index * LENGTH, to: (index + 1) * LENGTH });
    return index % 2 === 0 ? book(body) : bookLater(body);
  });
  expect(counts(answers)).toEqual({ 200: RUNNERS / 2, 201: RUNNERS / 2 });
  expect(await inconsistencies(schedule)).toEqual([]);
});
