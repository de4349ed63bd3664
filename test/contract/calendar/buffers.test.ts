/** The time that a service needs before and after an appointment is taken with it, and given back with it. */
import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { aPatient, book, parameters, stored, succeeded } from '../fixtures.ts';
import { medplum, request } from '../http.ts';
import { cancellation, patch } from '../patch/fixtures.ts';
import {
  aCalendar,
  aService,
  aSlot,
  at,
  change,
  nativeOn,
  never,
  open,
  proposals,
  proposedAt,
  untilFree,
  wholeDay,
} from './fixtures.ts';

const offers = ['09:00-09:30', '09:30-10:00', '10:00-10:30', '10:30-11:00', '11:00-11:30'];

/** What is left of them when the second is booked. */
const rest = offers.slice(3);

/** A day on which each appointment needs ten minutes after it: five fit, but no two that follow each other. */
async function aDay() {
  const service = await aService(open('09:00', '12:00'), 30, { before: 0, after: 10 });
  const schedule = await aCalendar(service, wholeDay);
  await untilFree(schedule, offers);
  const slots = await stored('Slot', `schedule=Schedule/${schedule.id}&status=free&_sort=start`);
  const [first, second, third, , last] = slots;
  if (!first || !second || !third || !last) {
    throw new Error('There are no five slots.');
  }
  const patient = await aPatient();
  const propose = (slot: Slot, from: string, to: string) => proposedAt(service, patient, from, to, [slot]);
  const buffers = async () => {
    const found = await stored('Slot', `schedule=Schedule/${schedule.id}&status=busy-unavailable&_sort=start`);
    return found.map(({ start, end, comment }) => `${start.slice(11, 16)}-${end.slice(11, 16)} ${comment}`);
  };
  return { service, schedule, first, second, third, last, propose, buffers };
}

const following = (from: string, to: string) => [`${from}-${to} buffer after appointment`];

describe('a booking of a service with buffers', () => {
  it('writes them as $book of Medplum does, which then respects them', async () => {
    const { service, schedule, second, propose, buffers } = await aDay();
    const booked = await book(propose(second, '09:30', '10:00'));
    expect([booked.status, booked.text]).toEqual([201, expect.any(String)]);
    expect(await buffers()).toEqual(following('10:00', '10:10'));
    expect([...(await proposals(schedule, service)).keys()]).toEqual(['10:30', '11:00']);
    await untilFree(schedule, rest);
  });

  it('is refused where its own would lie on an appointment, or its time on one of another', async () => {
    const { schedule, first, second, third, propose } = await aDay();
    expect((await book(propose(second, '09:30', '10:00'))).status).toBe(201);
    await untilFree(schedule, rest);
    for (const [slot, from, to] of [
      [first, '09:00', '09:30'],
      [third, '10:00', '10:30'],
    ] as const) {
      // Staff offer it again by hand: that makes the time no freer.
      const [now] = await stored('Slot', `_id=${slot.id}`);
      await change('Slot', { ...(now ?? slot), status: 'free' });
      expect((await book(propose(slot, from, to))).status).toBe(409);
    }
  });

  it('is refused where its own would lie on a block, however many free slots are beside it', async () => {
    const { schedule, second, propose } = await aDay();
    const reference = { reference: `Schedule/${schedule.id}` };
    const slot = { resourceType: 'Slot', schedule: reference, start: at('10:00'), end: at('10:30') };
    const creation = { method: 'POST', url: 'Slot' };
    const entry = Array.from({ length: 250 }, () => ({ request: creation, resource: { ...slot, status: 'free' } }));
    const block = {
      request: creation,
      resource: { ...slot, start: at('10:05'), end: at('10:06'), status: 'busy-unavailable' },
    };
    const body = { resourceType: 'Bundle', type: 'transaction', entry: [...entry, block] };
    expect((await medplum('front-desk', 'POST', '', { body })).status).toBe(200);
    expect((await book(propose(second, '09:30', '10:00'))).status).toBe(409);
  });

  it.each<[string, (id: string) => Promise<{ readonly status: number }>]>([
    ['cancelled by the portal', (id) => patch(id, cancellation)],
    ['cancelled by $cancel of Medplum', (id) => nativeOn(id, 'cancel')],
  ])('%s: it gives them back', async (_, cancel) => {
    const { schedule, second, propose, buffers } = await aDay();
    const { id = '' } = succeeded('Appointment', await book(propose(second, '09:30', '10:00')));
    await untilFree(schedule, rest);
    expect((await cancel(id)).status).toBe(200);
    await untilFree(schedule, offers);
    expect(await buffers()).toEqual([]);
  });

  it('moves with them', async () => {
    const { schedule, second, last, propose, buffers } = await aDay();
    const { id } = succeeded('Appointment', await book(propose(second, '09:30', '10:00')));
    const moved = await book({ ...propose(last, '11:00', '11:30'), id });
    expect([moved.status, moved.text]).toEqual([201, expect.any(String)]);
    expect(await buffers()).toEqual(following('11:30', '11:40'));
    await untilFree(schedule, offers.slice(0, 3));
  });

  it('holds them with $hold, and keeps them when the hold is booked', async () => {
    const { second, propose, buffers } = await aDay();
    const body = parameters(propose(second, '09:30', '10:00'));
    const held = succeeded('Appointment', await request('portal-a', 'POST', '/Appointment/$hold', { body }));
    expect(await buffers()).toEqual(following('10:00', '10:10'));
    const booked = await book({ ...propose(second, '09:30', '10:00'), id: held.id });
    expect([booked.status, booked.text]).toEqual([201, expect.any(String)]);
    expect(await buffers()).toEqual(following('10:00', '10:10'));
  });
});

it('a slot that staff made by hand is narrowed by them, and whole again afterwards', async () => {
  const service = await aService(never, 30, { before: 5, after: 10 });
  const schedule = await aCalendar(service, wholeDay);
  const slot = await aSlot(schedule, 'free', '09:00', '11:00');
  const propose = (from: string, to: string) => proposedAt(service, patient, from, to, [slot]);
  const patient = await aPatient();
  const { id = '' } = succeeded('Appointment', await book(propose('09:30', '10:00')));
  // What is left has room for an appointment with its own buffers.
  await untilFree(schedule, ['10:15-11:00']);
  expect((await book(propose('10:10', '10:40'))).status).toBe(409);
  expect((await book(propose('10:15', '10:45'))).status).toBe(201);
  expect((await patch(id, cancellation)).status).toBe(200);
  await untilFree(schedule, ['09:00-10:00']);
});

it('a service without buffers writes none, and its appointments follow each other', async () => {
  const service = await aService(open('09:00', '10:00'));
  const schedule = await aCalendar(service, wholeDay);
  await untilFree(schedule, ['09:00-09:30', '09:30-10:00']);
  const slots = await stored('Slot', `schedule=Schedule/${schedule.id}&status=free&_sort=start`);
  const patient = await aPatient();
  for (const slot of slots) {
    const { start, end } = slot;
    expect((await book(proposedAt(service, patient, start.slice(11, 16), end.slice(11, 16), [slot]))).status).toBe(201);
  }
  expect(slots.map(({ start }) => start)).toEqual([at('09:00'), at('09:30')]);
  expect(await stored('Slot', `schedule=Schedule/${schedule.id}&status=busy-unavailable`)).toEqual([]);
});
