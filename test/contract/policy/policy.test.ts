import { describe, expect, it } from '@jest/globals';
import type { HealthcareService, Schedule, Slot } from '@medplum/fhirtypes';
import { aPatient, aSchedule, book, slotsOf, stored, succeeded } from '../fixtures.ts';
import { isActionable, issuesOf, medplum, refusalOf, request, resourceIn } from '../http.ts';
import type { Role } from '../installation.ts';
import { cancellation, patch } from '../patch/fixtures.ts';
import { aPolicedClinic, aSlotIn, length, policy, whole } from './fixtures.ts';

describe('a booking policy', () => {
  it('leadTime: too soon is refused, in time is booked', async () => {
    const { schedule, patient, slot } = await aPolicedClinic(1, length('leadTime', 2, 'h'));
    const refused = await book(whole(slot, patient));
    expect(refusalOf(refused)).toEqual([422, 'too-soon Appointment.start']);
    expect(isActionable(refused)).toBe(true);
    expect(await stored('Appointment', `slot=Slot/${slot.id}`)).toEqual([]);
    expect((await book(whole(await aSlotIn(3, schedule), patient))).status).toBe(201);
  });

  it('window: too far ahead is refused', async () => {
    const { patient, slot } = await aPolicedClinic(49, length('window', 2, 'd'));
    expect(refusalOf(await book(whole(slot, patient)))).toEqual([422, 'too-far-ahead Appointment.start']);
  });

  it('of a service holds for its schedules, and a schedule overrides it part by part', async () => {
    const body: HealthcareService = {
      resourceType: 'HealthcareService',
      name: 'Check-up',
      ...policy(length('leadTime', 5, 'h'), length('window', 2, 'd')),
    };
    const service = succeeded('HealthcareService', await medplum('front-desk', 'POST', '/HealthcareService', { body }));
    const actor = [{ reference: `HealthcareService/${service.id}` }];
    const [own, other, patient] = await Promise.all([
      aSchedule({ actor, ...policy(length('leadTime', 1, 'min')) }),
      aSchedule({ actor }),
      aPatient(),
    ]);
    expect((await book(whole(await aSlotIn(1, own), patient))).status).toBe(201);
    expect(issuesOf(await book(whole(await aSlotIn(1, other), patient)))).toEqual(['too-soon Appointment.start']);
    expect(issuesOf(await book(whole(await aSlotIn(50, own), patient)))).toEqual(['too-far-ahead Appointment.start']);
  });

  it('does not bind clinic staff', async () => {
    const { patient, slot } = await aPolicedClinic(1, length('leadTime', 2, 'h'));
    expect((await book(whole(slot, patient), 'front-desk')).status).toBe(201);
  });

  it('cancelUntil: a later cancellation, move or replacement by the portal is refused; staff cancel', async () => {
    const { schedule, patient, slot } = await aPolicedClinic(3, length('cancelUntil', 4, 'h'));
    const booked = resourceIn('Appointment', await book(whole(slot, patient)));
    const refused = await patch(booked.id ?? '', cancellation);
    expect(refusalOf(refused)).toEqual([422, 'cancellation-closed Appointment.status']);
    const elsewhere = await aSlotIn(9, schedule);
    const moved = await book(whole(elsewhere, patient, { id: booked.id }));
    expect(refusalOf(moved)).toEqual([422, 'cancellation-closed Appointment.id']);
    expect((await slotsOf(schedule)).map((one) => one.split(' ')[0])).toEqual(['busy', 'free']);
    expect((await patch(booked.id ?? '', cancellation, 'front-desk')).status).toBe(200);
  });

  it('cancelUntil: in time the portal cancels', async () => {
    const { patient, slot } = await aPolicedClinic(6, length('cancelUntil', 4, 'h'));
    const booked = resourceIn('Appointment', await book(whole(slot, patient)));
    expect((await patch(booked.id ?? '', cancellation)).status).toBe(200);
  });
});

describe('a policy that cannot be used is refused where it is saved', () => {
  it.each([
    ['negative', length('leadTime', -1, 'h'), '.extension[0].value'],
    ['in another unit', length('leadTime', 1, 'a'), '.extension[0].value'],
    ['absurd', length('window', 600, 'wk'), '.extension[0].value'],
    ['without a number', { url: 'maxOpenPerPatient', valuePositiveInt: 0 }, ''],
    ['unknown', length('leedTime', 1, 'h'), '.extension[0].url'],
  ])('%s', async (_, part, path) => {
    const body = { resourceType: 'Schedule', actor: [{ display: 'Nobody' }], ...policy(part) };
    const refused = await medplum('front-desk', 'POST', '/Schedule', { body });
    expect(refused.status).toBe(422);
    if (path) {
      expect(issuesOf(refused)).toEqual([`policy-invalid Schedule.extension[0]${path}`]);
    }
  });

  it('contradictory', async () => {
    const parts = [length('leadTime', 2, 'd'), length('window', 1, 'd')];
    const body = { resourceType: 'HealthcareService', ...policy(...parts) };
    const refused = await medplum('front-desk', 'POST', '/HealthcareService', { body });
    expect(refusalOf(refused)).toEqual([422, 'policy-invalid HealthcareService.extension[0]']);
  });
});

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
    await Promise.all(schedules.map((schedule) => Promise.all([-2, 1, 5, 9].map((hours) => aSlotIn(hours, schedule)))))
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
