import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { aClinic, appointmentsOn, book, minutes, proposed, simultaneously, slotsOf } from '../fixtures.ts';
import { resourceIn } from '../http.ts';
import { inconsistencies } from './consistent.ts';
import { bookLater, counts, RUNNERS } from './support.ts';

it('50 requests for one slot, every second one asynchronous: one is booked, the others get 409', async () => {
  const { schedule, slot, patient } = await aClinic();
  const responses = await simultaneously(RUNNERS, (index) =>
    index % 2 === 0 ? book(proposed(patient, [slot])) : bookLater(proposed(patient, [slot])),
  );
  const { 409: refused, ...booked } = counts(responses);
  expect(refused).toBe(RUNNERS - 1);
  expect(Object.values(booked)).toEqual([1]);
  expect(await appointmentsOn(slot)).toHaveLength(1);
  expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
  expect(await inconsistencies(schedule)).toEqual([]);
});

it('5 requests, 10 times each, sync and async: one request is booked, and all its retries are told so', async () => {
  const { schedule, slot, patient } = await aClinic();
  const identifiers = Array.from({ length: 5 }, () => [{ system: 'urn:portal-a', value: randomUUID() }]);
  const responses = await simultaneously(RUNNERS, (index) => {
    const body = proposed(patient, [slot], { identifier: identifiers[index % 5] ?? [] });
    return index % 10 < 5 ? book(body) : bookLater(body);
  });
  const winners = responses.filter(({ status }) => status < 300);
  expect(counts(responses)[409]).toBe(RUNNERS - 10);
  expect(new Set(winners.map((response) => resourceIn('Appointment', response).id)).size).toBe(1);
  expect(winners.filter(({ status }) => status === 201).length).toBeLessThanOrEqual(1);
  expect(await appointmentsOn(slot)).toHaveLength(1);
  expect(await inconsistencies(schedule)).toEqual([]);
});

const LENGTH = 10;

it.each([
  ['in order', (index: number) => index],
  ['all over it', (index: number) => (index * 23) % RUNNERS],
])('50 requests for different parts of one long free slot (%s): all are booked', async (_, place) => {
  const { schedule, slot, patient } = await aClinic({}, { end: minutes(RUNNERS * LENGTH) });
  const responses = await simultaneously(RUNNERS, (index) => {
    const from = place(index) * LENGTH;
    return book(proposed(patient, [slot], { from, to: from + LENGTH }));
  });
  expect(counts(responses)).toEqual({ 201: RUNNERS });
  const parts = Array.from({ length: RUNNERS }, (_unused, index) => `busy ${index * LENGTH}-${(index + 1) * LENGTH}`);
  expect(await slotsOf(schedule)).toEqual(parts);
  expect(await inconsistencies(schedule)).toEqual([]);
});

it('sync and async requests for different parts: all are booked', async () => {
  const { schedule, slot, patient } = await aClinic({}, { end: minutes(RUNNERS * LENGTH) });
  const responses = await simultaneously(RUNNERS, (index) => {
    const body = proposed(patient, [slot], { from: index * LENGTH, to: (index + 1) * LENGTH });
    return index % 2 === 0 ? book(body) : bookLater(body);
  });
  expect(counts(responses)).toEqual({ 200: RUNNERS / 2, 201: RUNNERS / 2 });
  expect(await inconsistencies(schedule)).toEqual([]);
});
