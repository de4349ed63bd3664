import { expect, it } from '@jest/globals';
import { aClinic, book, proposed } from '../fixtures.ts';
import { request } from '../http.ts';

it('the body may be Parameters with appointment', async () => {
  const { slot, patient } = await aClinic();
  const parameter = [{ name: 'appointment', resource: proposed(patient, [slot]) }];
  expect((await book({ resourceType: 'Parameters', parameter })).status).toBe(201);
});

it('the dollar of the operation may be encoded', async () => {
  const { slot, patient } = await aClinic();
  const answer = await request('portal-a', 'POST', '/Appointment/%24book', { body: proposed(patient, [slot]) });
  expect([answer.status, answer.body]).toEqual([201, expect.objectContaining({ status: 'booked' })]);
});
