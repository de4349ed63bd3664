import { expect, it } from '@jest/globals';
import { aClinic, book, ct, proposed, slotsOf, stored } from '../../fixtures.ts';

it('an appointment takes just its part of a slot; what is left before and after is free again', async () => {
  const { schedule, slot, patient } = await aClinic({}, { end: '2031-01-06T12:00:00Z', serviceType: [ct] });
  expect((await book(proposed(patient, [slot], { from: 60, to: 90 }))).status).toBe(201);
  expect(await slotsOf(schedule)).toEqual(['free 0-60', 'busy 60-90', 'free 90-240']);
  // What is taken is taken from every service: its own comes back when it is free.
  const pieces = await stored('Slot', `schedule=Schedule/${schedule.id}&_sort=start`);
  expect(pieces.map(({ serviceType }) => serviceType?.[0]?.coding?.[0]?.code)).toEqual(['ct', undefined, 'ct']);
});

it('the pieces can be booked in their turn', async () => {
  const { schedule, slot, patient } = await aClinic({}, { end: '2031-01-06T12:00:00Z' });
  await book(proposed(patient, [slot], { from: 60, to: 90 }));
  const rest = (await stored('Slot', `schedule=Schedule/${schedule.id}&status=free&_sort=start`)).at(-1);
  expect((await book(proposed(patient, rest ? [rest] : [], { from: 120, to: 150 }))).status).toBe(201);
  expect(await slotsOf(schedule)).toEqual(['free 0-60', 'busy 60-90', 'free 90-120', 'busy 120-150', 'free 150-240']);
});

it('what the clinic has written on the slot stays on it', async () => {
  const identifier = [{ system: 'urn:clinic', value: 'room-3' }];
  const { slot, patient } = await aClinic({}, { comment: 'Bring your X-rays', identifier });
  expect((await book(proposed(patient, [slot], { to: 10 }))).status).toBe(201);
  const [taken] = await stored('Slot', `_id=${slot.id}`);
  expect(taken).toMatchObject({ comment: 'Bring your X-rays', identifier: expect.arrayContaining(identifier) });
});
