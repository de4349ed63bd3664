import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { aClinic, book, proposed } from '../fixtures.ts';
import { resourceIn } from '../http.ts';

it('an unknown id: a new appointment under an id of the service', async () => {
  const { slot, patient } = await aClinic();
  const id = randomUUID();
  const answer = await book(proposed(patient, [slot], { id }));
  expect(answer.status).toBe(201);
  expect(resourceIn('Appointment', answer).id).not.toBe(id);
});
