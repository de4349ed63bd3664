import { expect, it } from '@jest/globals';
import type { Schedule } from '@medplum/fhirtypes';
import { until } from '../../lib/until.ts';
import { aSchedule, aSlot, book, minutes, proposed, slotsOf } from '../fixtures.ts';
import { issuesOf, medplum } from '../http.ts';
import { aBooking } from '../patch/fixtures.ts';
import { edit, inMedplum, moveAnew, type Target } from './fixtures.ts';

type Booking = Awaited<ReturnType<typeof aBooking>> & { readonly other: Schedule };

const anew = (target: (booking: Booking) => Target) => (booking: Booking) => moveAnew(booking.id, target(booking));

// biome-ignore format: a row a line
it.each<[string, (booking: Booking) => ReturnType<typeof medplum>, string | number]>([
  ['into the past', anew(({ schedule }) => ({ from: -4e6, to: -4e6 + 30, slots: [[schedule, -4e6, -4e6 + 30]] })),
   'start-in-past Appointment.start'],
  ['onto itself', anew(({ schedule }) => ({ from: 0, to: 30, slots: [[schedule, 0, 30]] })),
   'slot-mismatch Appointment.slot'],
  ['with Slots of two calendars at other times', anew(({ schedule, other }) => ({ from: 60, to: 90, slots: [[schedule, 60, 90], [other, 120, 150]] })),
   'slot-mismatch Appointment.slot[1]'],
  ['onto time of another', anew(({ schedule }) => ({ from: 180, to: 210, slots: [[schedule, 180, 210]] })),
   'schedule-overbooked Appointment.slot[0]'],
  ['to an end before its start', ({ id }) => edit(id, { start: minutes(90), end: minutes(60) }),
   'period-invalid Appointment.end'],
  ['with 200 Slots', ({ id }) => edit(id, { slot: Array.from({ length: 200 }, (_, index) => ({ reference: `Slot/s${index}` })) }),
   'malformed-request Appointment.slot'],
  ['with the time of its Slot where it has one in another calendar, too', async ({ id, slot, other }) => {
    const room = await aSlot(other, 0, 30, { status: 'busy' });
    await edit(id, { slot: [{ reference: `Slot/${slot.id}` }, { reference: `Slot/${room.id}` }] });
    const [own] = [await medplum('front-desk', 'GET', `/Slot/${slot.id}`)];
    return medplum('front-desk', 'PUT', `/Slot/${slot.id}`, { body: { ...Object(own.body), start: minutes(60), end: minutes(90) } });
  }, 'slot-mismatch Slot'],
  ['by a portal', ({ id, schedule }) => moveAnew(id, { from: 60, to: 90, slots: [[schedule, 60, 90]] }, 'portal-a'), 403],
])('a move %s: refused whole', async (_, act, expected) => {
  const booking = { ...(await aBooking()), other: await aSchedule() };
  await aSlot(booking.schedule, 180, 210, { status: 'busy' });
  const response = await act(booking);
  expect(typeof expected === 'number' ? response.status : issuesOf(response)[0]).toBe(expected);
  const { start, end } = await inMedplum(booking.id);
  expect([start, end]).toEqual([minutes(0), minutes(30)]);
  expect(await slotsOf(booking.schedule)).toEqual(['busy 0-30', 'busy 180-210']);
});

it.each(['cancelled', 'fulfilled', 'noshow'] as const)('an appointment that is %s is not moved', async (status) => {
  const { id, schedule } = await aBooking();
  expect((await edit(id, { status })).status).toBe(200);
  const response = await moveAnew(id, { from: 60, to: 90, slots: [[schedule, 60, 90]] });
  expect(issuesOf(response)).toEqual(['appointment-closed Appointment']);
  expect(await slotsOf(schedule)).not.toContain('busy 60-90');
});

it('what is refused keeps no time closed, and a write that changes nothing is no move', async () => {
  const { id, schedule, patient } = await aBooking();
  const later = await aSlot(schedule, 60, 90);
  const past = { from: -4e6, to: -4e6 + 30, slots: [[schedule, 60, 90]] } as const;
  expect(issuesOf(await moveAnew(id, past))[0]).toBe('start-in-past Appointment.start');
  const wanted = () => book(proposed(patient, [later], { from: 60, to: 90 }));
  expect((await until(wanted, ({ status }) => status === 201)).status).toBe(201);
  expect((await edit(id, {})).status).toBe(200);
});
