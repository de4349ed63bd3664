import { expect, it } from '@jest/globals';
import { aClinic, book, parameters, proposed } from '../fixtures.ts';

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
