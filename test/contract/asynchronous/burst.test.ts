import { expect, it } from '@jest/globals';
import { aClinic, book, proposed, simultaneously } from '../fixtures.ts';

it('of 150 simultaneous requests each is answered 202 with a Content-Location of its own', async () => {
  const { slot, patient } = await aClinic();
  const body = proposed(patient, [slot]);
  const responses = await simultaneously(150, () => book(body, 'portal-a', { prefer: 'respond-async' }));
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([202]));
  expect(new Set(responses.map(({ headers }) => headers.get('content-location') ?? 'none')).size).toBe(150);
});
