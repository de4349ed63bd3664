import { expect, it } from '@jest/globals';
import { aClinic, book, proposed } from '../fixtures.ts';
import { resourceIn } from '../http.ts';

it.each([
  ['2031-01-06T09:00:00+01:00', '2031-01-06T09:30:00+01:00'],
  ['2031-01-06T08:00:00Z', '2031-01-06T08:30:00.000Z'],
  ['2031-01-05T22:00:00-10:00', '2031-01-06T21:30:00+13:00'],
])('instants are compared as instants, and stored in UTC (%s to %s)', async (start, end) => {
  const { slot, patient } = await aClinic();
  const answer = await book(proposed(patient, [slot], { start, end }));
  expect(answer.status).toBe(201);
  expect(resourceIn('Appointment', answer)).toMatchObject({
    start: '2031-01-06T08:00:00.000Z',
    end: '2031-01-06T08:30:00.000Z',
  });
});
