import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { aClinic, appointmentsOn, book, proposed, simultaneously } from '../fixtures.ts';
import { resourceIn } from '../http.ts';
import { inconsistencies } from './consistent.ts';
import { bookLater, counts, RUNNERS } from './support.ts';

it('5 requests, 10 times each, sync and async: one request is booked, and all its retries are told so', async () => {
  const { schedule, slot, patient } = await aClinic();
  const identifiers = Array.from({ length: 5 }, () => [{ system: 'urn:portal-a', value: randomUUID() }]);
  const answers = await simultaneously(RUNNERS, (index) => {
    const body = proposed(patient, [slot], { identifier: identifiers[index % 5] ?? [] });
    return index % 10 < 5 ? book(body) : bookLater(body);
  });
  const winners = answers.filter(({ status }) => status < 300);
  expect(counts(answers)[409]).toBe(RUNNERS - 10);
  expect(new Set(winners.map((answer) => resourceIn('Appointment', answer).id)).size).toBe(1);
  expect(winners.filter(({ status }) => status === 201).length).toBeLessThanOrEqual(1);
  expect(await appointmentsOn(slot)).toHaveLength(1);
  expect(await inconsistencies(schedule)).toEqual([]);
});
