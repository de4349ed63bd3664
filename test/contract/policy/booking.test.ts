import { describe, expect, it } from '@jest/globals';
import type { HealthcareService } from '@medplum/fhirtypes';
import { aPatient, aSchedule, book, slotsOf, stored, succeeded } from '../fixtures.ts';
import { isActionable, issuesOf, medplum, resourceIn } from '../http.ts';
import { cancellation, patch } from '../patch/fixtures.ts';
import { aPolicedClinic, aSlotIn, length, policy, whole } from './fixtures.ts';

describe('a booking policy', () => {
  it('leadTime: too soon is refused, in time is booked', async () => {
    const { schedule, patient, slot } = await aPolicedClinic(1, length('leadTime', 2, 'h'));
    const refused = await book(whole(slot, patient));
    expect([refused.status, issuesOf(refused)]).toEqual([422, ['too-soon Appointment.start']]);
    expect(isActionable(refused)).toBe(true);
    expect(await stored('Appointment', `slot=Slot/${slot.id}`)).toEqual([]);
    expect((await book(whole(await aSlotIn(3, schedule), patient))).status).toBe(201);
  });

  it('window: too far ahead is refused', async () => {
    const { patient, slot } = await aPolicedClinic(49, length('window', 2, 'd'));
    const refused = await book(whole(slot, patient));
    expect([refused.status, issuesOf(refused)]).toEqual([422, ['too-far-ahead Appointment.start']]);
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
    expect([refused.status, issuesOf(refused)]).toEqual([422, ['cancellation-closed Appointment.status']]);
    const elsewhere = await aSlotIn(9, schedule);
    const moved = await book(whole(elsewhere, patient, { id: booked.id }));
    expect([moved.status, issuesOf(moved)]).toEqual([422, ['cancellation-closed Appointment.id']]);
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
    expect([refused.status, issuesOf(refused)]).toEqual([422, ['policy-invalid HealthcareService.extension[0]']]);
  });
});
