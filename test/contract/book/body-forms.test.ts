import { expect, it } from '@jest/globals';
import { aClinic, book, parameters, proposed } from '../fixtures.ts';
import { request } from '../http.ts';

it.each([
  ['a bare Appointment', (appointment: unknown) => appointment],
  ['Parameters with appt-resource', (appointment: unknown) => parameters(appointment)],
  [
    'Parameters with appointment',
    (appointment: unknown) => ({
      resourceType: 'Parameters',
      parameter: [{ name: 'appointment', resource: appointment }],
    }),
  ],
])('the body may be %s', async (_, wrap) => {
  const { slot, patient } = await aClinic();
  expect((await book(wrap(proposed(patient, [slot])))).status).toBe(201);
});

it('the dollar of the operation may be encoded', async () => {
  const { slot, patient } = await aClinic();
  const answer = await request('portal-a', 'POST', '/Appointment/%24book', { body: proposed(patient, [slot]) });
  expect([answer.status, answer.body]).toEqual([201, expect.objectContaining({ status: 'booked' })]);
});
