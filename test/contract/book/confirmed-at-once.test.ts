import { expect, it } from '@jest/globals';
import { aClinic, book, proposed, slotsOf, stored } from '../fixtures.ts';
import { resourceIn } from '../http.ts';
import { base } from '../installation.ts';

it('confirmed: 201, Location, the Appointment with status booked, its slot busy', async () => {
  const { schedule, slot, patient } = await aClinic();
  const answer = await book(proposed(patient, [slot], { comment: 'Left knee' }));
  const booked = resourceIn('Appointment', answer);
  expect(answer.status).toBe(201);
  expect(answer.headers.get('location')).toMatch(new RegExp(`^${base}/Appointment/${booked.id}(/_history/[^/]+)?$`));
  expect(answer.headers.get('etag')).toBe(`W/"${booked.meta?.versionId}"`);
  expect(Date.parse(answer.headers.get('last-modified') ?? '')).toBeGreaterThan(0);
  expect(booked).toMatchObject({ status: 'booked', comment: 'Left knee', slot: [{ reference: `Slot/${slot.id}` }] });
  expect(await stored('Appointment', `_id=${booked.id}`)).toHaveLength(1);
  expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
});
