import { expect, it } from '@jest/globals';
import type { Schedule, Slot } from '@medplum/fhirtypes';
import { aPatient, aSchedule, book } from '../fixtures.ts';
import { request, resourceIn } from '../http.ts';
import type { Role } from '../installation.ts';
import { aSlotIn, length, policy, whole } from './fixtures.ts';

const search = async (schedules: readonly Schedule[], more = '', role: Role = 'portal-a') => {
  const named = schedules.map(({ id }) => `Schedule/${id}`).join(',');
  const path = `/Slot?schedule=${named}&status=free&_sort=start&_total=accurate${more}`;
  return resourceIn('Bundle', await request(role, 'GET', path));
};

const idsIn = ({ entry = [] }: ReturnType<typeof resourceIn<'Bundle'>>) => entry.map(({ resource }) => resource?.id);

it('what a search for free slots offers can be booked, and what can be booked is offered', async () => {
  const schedules = await Promise.all([
    aSchedule(),
    aSchedule(policy(length('leadTime', 3, 'h'))),
    aSchedule(policy(length('window', 8, 'h'))),
    aSchedule(policy(length('leadTime', 3, 'h'), length('window', 8, 'h'))),
    aSchedule({ active: false }),
  ]);
  const slots = (
    await Promise.all(schedules.map((one) => Promise.all([-2, 1, 5, 9].map((hours) => aSlotIn(hours, one)))))
  ).flat();
  const offered = await search(schedules);
  const patient = await aPatient();
  const booked: Slot[] = [];
  for (const slot of slots) {
    if ((await book(whole(slot, patient))).status === 201) {
      booked.push(slot);
    }
  }
  expect(booked).toHaveLength(8);
  expect(idsIn(offered).sort()).toEqual(booked.map(({ id }) => id).sort());
  expect(offered.total).toBe(8);
});

it('pages and totals count what can be booked only, and links do not show how', async () => {
  const schedules = await Promise.all([aSchedule(), aSchedule(policy(length('leadTime', 3, 'h')))]);
  const [open, limited] = schedules;
  const made = [await aSlotIn(1, open), await aSlotIn(1, limited), await aSlotIn(5, limited), await aSlotIn(6, open)];
  const first = await search(schedules, '&_count=2');
  const next = first.link?.find(({ relation }) => relation === 'next')?.url ?? '';
  expect([first.total, idsIn(first)]).toEqual([3, [made[0]?.id, made[2]?.id]]);
  expect(next).not.toContain('_filter');
  const second = resourceIn('Bundle', await request('portal-a', 'GET', next.slice(next.indexOf('/Slot'))));
  expect(idsIn(second)).toEqual([made[3]?.id]);
});

it('staff see what a policy withholds from portals, and the past is shown to those who ask for it', async () => {
  const schedule = await aSchedule(policy(length('leadTime', 3, 'h')));
  const soon = await aSlotIn(1, schedule);
  expect(idsIn(await search([schedule], '', 'front-desk'))).toEqual([soon.id]);
  expect(idsIn(await search([schedule]))).toEqual([]);
  const open = await aSchedule();
  const past = await aSlotIn(-2, open);
  expect(idsIn(await search([open]))).toEqual([]);
  expect(idsIn(await search([open], '&start=ge2020-01-01'))).toEqual([past.id]);
});

it('from one day to another stays so where a Schedule is not open for booking', async () => {
  const [closed, open] = await Promise.all([aSchedule({ active: false }), aSchedule()]);
  const slots = [await aSlotIn(30, open), await aSlotIn(80, open), await aSlotIn(130, open)];
  const between = `&start=gt${slots[0]?.start}&start=lt${slots[2]?.start}`;
  expect(idsIn(await search([closed, open], between))).toEqual([slots[1]?.id]);
});
