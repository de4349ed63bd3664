import { describe, expect, it } from '@jest/globals';
import type { Schedule, Slot } from '@medplum/fhirtypes';
import { until } from '../../lib/until.ts';
import { aClinic, appointmentsOn, aSlot, book, ct, parameters, proposed, slotsOf, succeeded } from '../fixtures.ts';
import { issuesOf, medplum } from '../http.ts';

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
    const refused = await book(proposed(patient, [slot]));
    expect([refused.status, ...issuesOf(refused)]).toEqual([409, 'slot-not-free Appointment.slot[0]']);
    expect(await appointmentsOn(slot)).toEqual([]);
  });

  it('where the schedule alone is named: 409', async () => {
    const { schedule, patient } = await aClinic();
    await takes(schedule, 'busy', 10, 20);
    const { slot: _, ...appointment } = proposed(patient, []);
    const body = parameters(appointment);
    const named = { name: 'schedule', valueReference: { reference: `Schedule/${schedule.id}` } };
    const refused = await book({ ...body, parameter: [...body.parameter, named] });
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
  const taking = await takes(schedule, 'busy', 0, 30);
  expect((await book(proposed(patient, [slot]))).status).toBe(409);
  await medplum('front-desk', 'DELETE', `/Slot/${taking.id}`);
  await until(
    () => book(proposed(patient, [slot])),
    ({ status }) => status === 201,
  );
});
