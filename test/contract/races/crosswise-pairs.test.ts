import { expect, it } from '@jest/globals';
import { aClinic, aSchedule, aSlot, book, minutes, proposed, simultaneously } from '../fixtures.ts';
import { inconsistencies } from './consistent.ts';
import { counts, RUNNERS } from './support.ts';

it('surgeon and room, room and surgeon: of 50 requests for one pair of slots one is booked', async () => {
  const { schedule, slot, patient } = await aClinic();
  const room = await aSchedule();
  const inRoom = await aSlot(room, 0, 30);
  const responses = await simultaneously(RUNNERS, (index) =>
    book(proposed(patient, index % 2 === 0 ? [slot, inRoom] : [inRoom, slot])),
  );
  expect(counts(responses)).toEqual({ 201: 1, 409: RUNNERS - 1 });
  expect(await inconsistencies(schedule, room)).toEqual([]);
});

it('25 pairs of parts of two long slots, each wanted twice, crosswise: each is booked once', async () => {
  const pairs = RUNNERS / 2;
  const { schedule, slot, patient } = await aClinic({}, { end: minutes(pairs * 10) });
  const room = await aSchedule();
  const inRoom = await aSlot(room, 0, pairs * 10);
  const responses = await simultaneously(RUNNERS, (index) => {
    const from = (index % pairs) * 10;
    return book(proposed(patient, index < pairs ? [slot, inRoom] : [inRoom, slot], { from, to: from + 10 }));
  });
  expect(counts(responses)).toEqual({ 201: pairs, 409: pairs });
  expect(await inconsistencies(schedule, room)).toEqual([]);
});

it('a chain of pairs, each overlapping the next: nothing is held twice, and somebody gets a place', async () => {
  const { patient } = await aClinic();
  const schedules = await simultaneously(5, () => aSchedule());
  const slots = await Promise.all(schedules.map((schedule) => aSlot(schedule, 0, 30)));
  const responses = await simultaneously(RUNNERS, (index) => {
    const pair = [index % 5, (index + 1) % 5].flatMap((place) => slots[place] ?? []);
    return book(proposed(patient, pair));
  });
  const { 201: booked = 0, 409: refused = 0, ...others } = counts(responses);
  expect(others).toEqual({});
  expect([1, 2]).toContain(booked);
  expect(booked + refused).toBe(RUNNERS);
  expect(await inconsistencies(...schedules)).toEqual([]);
});
