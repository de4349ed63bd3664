import { expect, it } from '@jest/globals';
import { aClinic, book, proposed, slotsOf } from '../fixtures.ts';
import { issuesOf } from '../http.ts';

const clocks = ['Thu, 01 Jan 1970 00:00:00 GMT', 'Fri, 31 Dec 9999 23:59:59 GMT', 'Mon, 32 Foo -1 99:99:99', '0'];

it.each(clocks)('the clock of the client has no effect: Date: %s', async (date) => {
  const { schedule, slot, patient } = await aClinic();
  expect((await book(proposed(patient, [slot]), 'portal-a', { date })).status).toBe(201);
  expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
  const past = { start: '2020-01-06T08:00:00Z', end: '2020-01-06T08:30:00Z' };
  const answer = await book(proposed(patient, [slot], past), 'portal-a', { date });
  expect(answer.status).toBe(422);
  expect(issuesOf(answer)).toContain('start-in-past Appointment.start');
});
