import { expect, it } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { aClinic, book, proposed, slotsOf } from '../fixtures.ts';
import { resourceIn } from '../http.ts';
import { config } from '../installation.ts';

it('cannot be confirmed now: 202, the Appointment with status pending, its slot busy-tentative', async () => {
  const extension = [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: 'manual' }];
  const { schedule, slot, patient } = await aClinic({ extension });
  const answer = await book(proposed(patient, [slot]));
  expect(answer.status).toBe(202);
  expect(resourceIn('Appointment', answer).status).toBe('pending');
  expect(await slotsOf(schedule)).toEqual(['busy-tentative 0-30']);
});
