import { expect, it } from '@jest/globals';
import { aClinic, book, proposed, succeeded } from '../fixtures.ts';
import { request, resourceIn } from '../http.ts';

const late = '9999-12-31T23:59:59-05:00';
const early = '0001-01-01T00:30:00+01:00';

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

it.each([late, early])(
  'instants outside of the years 0001 to 9999 are malformed, at every door (%s)',
  async (instant) => {
    const { slot, patient } = await aClinic();
    const booked = succeeded('Appointment', await book(proposed(patient, [slot])));
    const times = instant === late ? { end: instant } : { start: instant };
    const body = proposed(patient, [slot], times);
    const patch = (name: string, value: unknown) =>
      request('portal-a', 'PATCH', `/Appointment/${booked.id}`, {
        body: [{ op: 'add', path: `/${name}`, value }],
        headers: { 'content-type': 'application/json-patch+json' },
      });
    const encoded = encodeURIComponent(instant);
    const answers = await Promise.all([
      book(body),
      book(body, 'portal-a', { prefer: 'respond-async' }),
      book({ ...proposed(patient, [slot]), created: instant }),
      request('portal-a', 'POST', '/Appointment/$hold', { body }),
      patch('created', instant),
      patch('requestedPeriod', [{ end: instant }]),
      request('portal-a', 'GET', `/Slot?start=ge${encoded}`),
      request('portal-a', 'GET', `/Appointment?date=${encoded}`),
      request('portal-a', 'GET', `/Appointment?_lastUpdated=lt${encoded}`),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 400));
  },
);
