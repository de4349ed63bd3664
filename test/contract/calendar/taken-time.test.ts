import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Schedule, Slot } from '@medplum/fhirtypes';
import { eventually } from '../../lib/until.ts';
import {
  aClinic,
  aPatient,
  appointmentsOn,
  aSlot,
  book,
  ct,
  minutes,
  onSchedule,
  proposed,
  slotsOf,
  stored,
  succeeded,
} from '../fixtures.ts';
import { issuesOf, medplum, refusalOf } from '../http.ts';
import { cancellation, patch } from '../patch/fixtures.ts';
import { aCalendar, aService, at, open, proposedAt, untilFree } from './fixtures.ts';

const other = { coding: [{ system: 'urn:services', code: 'mri' }] };

/** Takes time by hand, as an import or Medplum's own `$book` and `$hold` do: a Slot that is never free. */
const takes = (schedule: Schedule, status: Slot['status'], from: number, to: number, more: Partial<Slot> = {}) =>
  aSlot(schedule, from, to, { status, ...more });

describe('time that is taken in Medplum cannot be booked, although the free slot is still there', () => {
  it.each<[string, Slot['status'], number, number]>([
    ['by an appointment of the same time', 'busy', 0, 30],
    ['by a request that overlaps the end', 'busy-tentative', 29, 60],
    ['by a block of the whole day', 'busy-unavailable', -600, 600],
  ])('%s: 409', async (_, status, from, to) => {
    const { schedule, slot, patient } = await aClinic();
    await takes(schedule, status, from, to);
    expect(refusalOf(await book(proposed(patient, [slot])))).toEqual([409, 'slot-not-free Appointment.slot[0]']);
    expect(await appointmentsOn(slot)).toEqual([]);
  });

  it('where the schedule alone is named: 409', async () => {
    const { schedule, patient } = await aClinic();
    await takes(schedule, 'busy', 10, 20);
    const refused = await book(onSchedule(schedule.id, { ...proposed(patient, []), slot: undefined }));
    expect(refused.status).toBe(409);
    expect(issuesOf(refused)[0]).toMatch(/^slot-not-free /);
  });

  it('the part of a slot that is not taken can be booked', async () => {
    const { schedule, slot, patient } = await aClinic({}, {});
    await takes(schedule, 'busy', 15, 30);
    expect((await book(proposed(patient, [slot], { from: 0, to: 15 }))).status).toBe(201);
    expect(await slotsOf(schedule)).toContain('busy 0-15');
  });
});

it.each<Appointment['status']>(['booked', 'arrived'])(
  'an appointment of staff that names a Slot which is not there: %s: takes the time of its doctor all the same',
  async (status) => {
    const made = await medplum('admin', 'POST', '/Practitioner', { body: { resourceType: 'Practitioner' } });
    const actor = { reference: `Practitioner/${succeeded('Practitioner', made).id}` };
    const { schedule, slot, patient } = await aClinic({ actor: [actor] });
    const { participant } = proposed(await aPatient(), []);
    const body = {
      ...{ resourceType: 'Appointment', status, start: minutes(0), end: minutes(30) },
      slot: [{ reference: `Slot/${randomUUID()}` }],
      participant: [...participant, { actor, status: 'accepted' }],
    };
    expect((await medplum('front-desk', 'POST', '/Appointment', { body })).status).toBe(201);
    await eventually(() => slotsOf(schedule)).is((slots) => !slots.some((one) => one.startsWith('free')));
    expect(refusalOf(await book(proposed(patient, [slot])))).toEqual([409, 'slot-not-free Appointment.slot[0]']);
  },
);

describe('what takes nothing from a slot', () => {
  it.each<[string, Partial<Slot>, number, number]>([
    ['an appointment that touches it', { status: 'busy' }, 30, 60],
    ['what was entered in error', { status: 'entered-in-error' }, 0, 30],
    ['a block for another service', { status: 'busy-unavailable', serviceType: [other] }, 0, 30],
  ])('%s: 201', async (_, more, from, to) => {
    const { schedule, slot, patient } = await aClinic();
    await aSlot(schedule, from, to, more);
    expect((await book(proposed(patient, [slot], { serviceType: [ct] }))).status).toBe(201);
  });

  it('an appointment on another schedule: 201', async () => {
    const [{ slot, patient }, elsewhere] = await Promise.all([aClinic(), aClinic()]);
    await takes(elsewhere.schedule, 'busy', 0, 30);
    expect((await book(proposed(patient, [slot]))).status).toBe(201);
  });

  it('a slot beside it that was free, whether booked or blocked by hand: two places stay two', async () => {
    const { schedule, slot, patient } = await aClinic();
    const [blocked, booked] = [await aSlot(schedule, 0, 30), await aSlot(schedule, 0, 30)];
    const body: Slot = { ...blocked, status: 'busy-unavailable' };
    succeeded('Slot', await medplum('front-desk', 'PUT', `/Slot/${blocked.id}`, { body }));
    expect((await book(proposed(patient, [booked]))).status).toBe(201);
    expect((await book(proposed(patient, [slot]))).status).toBe(201);
  });
});

it('what took the time is gone: within seconds it can be booked again', async () => {
  const { schedule, slot, patient } = await aClinic();
  const external = await takes(schedule, 'busy', 0, 30);
  expect((await book(proposed(patient, [slot]))).status).toBe(409);
  await medplum('front-desk', 'DELETE', `/Slot/${external.id}`);
  await eventually(() => book(proposed(patient, [slot]))).is(({ status }) => status === 201);
});

const write = (body: Slot) => medplum('front-desk', 'PUT', `/Slot/${body.id}`, { body });

describe('what staff set free although it never was on offer is no second place', () => {
  it.each<Slot['status']>(['busy', 'busy-unavailable'])(
    '%s over a free slot: that is offered again',
    async (status) => {
      const { schedule } = await aClinic();
      const external = await takes(schedule, status, 0, 30);
      expect(await write({ ...external, status: 'free' })).toMatchObject({ body: { status: 'entered-in-error' } });
      await eventually(() => slotsOf(schedule)).is((slots) => slots.join() === 'free 0-30');
      const again = await write({ ...(await read(external.id)), status: 'free' });
      expect(again).toMatchObject({ body: { status: 'entered-in-error' } });
    },
  );

  it('a buffer: its published slot is offered again', async () => {
    const service = await aService(open('09:00', '10:30'), 30, { after: 30 });
    const schedule = await aCalendar(service);
    await untilFree(schedule, ['09:00-09:30', '09:30-10:00']);
    const [slot] = await stored('Slot', `schedule=Schedule/${schedule.id}&start=${at('09:00')}`);
    const wish = proposedAt(service, await aPatient(), '09:00', '09:30', slot ? [slot] : []);
    succeeded('Appointment', await book(wish));
    await untilFree(schedule, []);
    const [buffer] = await stored('Slot', `schedule=Schedule/${schedule.id}&status=busy-unavailable`);
    const freed = await (buffer && write({ ...buffer, status: 'free' }));
    expect(freed).toMatchObject({ body: { status: 'entered-in-error' } });
    await untilFree(schedule, ['09:30-10:00']);
    const again = await (buffer && write({ ...(await read(buffer.id)), status: 'free' }));
    expect(again).toMatchObject({ body: { status: 'entered-in-error' } });
  });

  it.each<Slot['status']>(['busy', 'entered-in-error'])(
    '%s where nothing was on offer becomes an offer',
    async (status) => {
      const { schedule } = await aClinic();
      const external = await takes(schedule, status, 60, 90);
      expect(await write({ ...external, status: 'free' })).toMatchObject({ body: { status: 'free' } });
    },
  );
});
const read = async (id: string | undefined) => succeeded('Slot', await medplum('front-desk', 'GET', `/Slot/${id}`));

/** A booked Slot made by hand, as it was before and as it is now. */
async function aBookedSlot() {
  const { slot, patient } = await aClinic();
  const appointment = succeeded('Appointment', await book(proposed(patient, [slot])));
  return { appointment, before: slot, now: await read(slot.id) };
}

describe('staff cannot offer a slot again that an appointment holds', () => {
  it.each<[string, Partial<Slot>, number, string]>([
    ['set free', { status: 'free' }, 422, 'transition-not-allowed Slot.status'],
    ['entered in error', { status: 'entered-in-error' }, 422, 'transition-not-allowed Slot.status'],
  ])('%s: refused, and it stays booked', async (_, change, status, issue) => {
    const { before, now } = await aBookedSlot();
    const refused = await write({ ...now, ...change });
    expect(refusalOf(refused)).toEqual([status, issue]);
    expect(refused.text).toContain('cancel the appointment');
    expect(await read(before.id)).toMatchObject({ status: 'busy', start: before.start, end: before.end });
    const again = await book(proposed(await aPatient('portal-b'), [before]), 'portal-b');
    expect(refusalOf(again)).toEqual([409, 'slot-not-free Appointment.slot[0]']);
  });

  it('moved, it takes its appointment along', async () => {
    const { now } = await aBookedSlot();
    expect((await write({ ...now, start: minutes(60), end: minutes(90) })).status).toBe(200);
    await eventually(() => stored('Appointment', `slot=Slot/${now.id}`)).is(
      ([found]) => found?.start === minutes(60) && found.end === minutes(90),
    );
  });

  it('a published one, saved as it was before: 422', async () => {
    const service = await aService();
    const schedule = await aCalendar(service);
    const morning = ['09:00-09:30', '09:30-10:00', '10:00-10:30', '10:30-11:00'];
    await untilFree(schedule, morning);
    const [slot] = await stored('Slot', `schedule=Schedule/${schedule.id}&start=${at('09:30')}`);
    if (!slot) {
      throw new Error('There is no slot at 09:30.');
    }
    succeeded('Appointment', await book(proposedAt(service, await aPatient(), '09:30', '10:00', [slot])));
    const refused = await write({ ...slot, comment: 'Bring the old one' });
    expect(refusalOf(refused)).toEqual([422, 'transition-not-allowed Slot.status']);
  });

  it('one made by hand, saved as it was before: 422', async () => {
    const { before } = await aBookedSlot();
    const refused = await write({ ...before, comment: 'Second floor' });
    expect(refusalOf(refused)).toEqual([422, 'transition-not-allowed Slot.status']);
  });

  it('one made by hand, written without having been read: 422', async () => {
    const { before } = await aBookedSlot();
    const { meta: _, ...unread } = before;
    const refused = await write({ ...unread, comment: 'Second floor' });
    expect(refusalOf(refused)).toEqual([422, 'transition-not-allowed Slot.status']);
    expect((await read(before.id)).status).toBe('busy');
  });
});

it('a slot that staff delete although an appointment holds it comes back, and its time is not offered', async () => {
  const service = await aService();
  const schedule = await aCalendar(service);
  await untilFree(schedule, ['09:00-09:30', '09:30-10:00', '10:00-10:30', '10:30-11:00']);
  const [slot] = await stored('Slot', `schedule=Schedule/${schedule.id}&start=${at('09:30')}`);
  const wish = proposedAt(service, await aPatient(), '09:30', '10:00', slot ? [slot] : []);
  const appointment = succeeded('Appointment', await book(wish));
  expect((await medplum('front-desk', 'DELETE', `/Slot/${slot?.id}`)).status).toBe(200);
  const [again] = await eventually(() => stored('Slot', `_id=${slot?.id}`)).is((found) => found.length > 0);
  expect(again).toMatchObject({ status: 'busy', start: slot?.start, end: slot?.end });
  await untilFree(schedule, ['09:00-09:30', '10:00-10:30', '10:30-11:00']);
  expect((await patch(appointment.id ?? '', cancellation)).status).toBe(200);
  await untilFree(schedule, ['09:00-09:30', '09:30-10:00', '10:00-10:30', '10:30-11:00']);
});

describe('staff may', () => {
  it('block a slot that is booked', async () => {
    const { now } = await aBookedSlot();
    expect((await write({ ...now, status: 'busy-unavailable' })).status).toBe(200);
  });

  it('offer it again once the appointment is cancelled', async () => {
    const { appointment, before } = await aBookedSlot();
    expect((await patch(appointment.id ?? '', cancellation)).status).toBe(200);
    expect((await write({ ...(await read(before.id)), status: 'busy-unavailable' })).status).toBe(200);
    expect((await write({ ...(await read(before.id)), status: 'free' })).status).toBe(200);
  });
});
