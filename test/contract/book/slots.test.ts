import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { Bundle, Schedule } from '@medplum/fhirtypes';
import {
  aClinic,
  appointmentsOn,
  aSchedule,
  aSlot,
  book,
  ct,
  minutes,
  proposed,
  slotsOf,
  stored,
} from '../fixtures.ts';
import { issuesOf, medplum, resourceIn } from '../http.ts';

const bookOn = (scheduleId: string | undefined, appointment: object) =>
  book({
    resourceType: 'Parameters',
    parameter: [
      { name: 'appt-resource', resource: { ...appointment, slot: undefined } },
      { name: 'schedule', valueReference: { reference: `Schedule/${scheduleId}` } },
    ],
  });

it('schedule without slots: the service finds the free slots itself and writes them to Appointment.slot', async () => {
  const { schedule, slot, patient } = await aClinic();
  const next = await aSlot(schedule, 30, 90);
  const answer = await bookOn(schedule.id, proposed(patient, [], { to: 60 }));
  expect(answer.status).toBe(201);
  expect(resourceIn('Appointment', answer).slot?.map(({ reference }) => reference)).toEqual([
    `Slot/${slot.id}`,
    `Slot/${next.id}`,
  ]);
  expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'busy 30-60', 'free 60-90']);
});

it('none free at that time: 409', async () => {
  const { schedule, patient } = await aClinic();
  const answer = await bookOn(schedule.id, proposed(patient, [], { to: 60 }));
  expect([answer.status, ...issuesOf(answer)]).toEqual([409, 'slot-not-free Parameters.parameter[1].valueReference']);
});

it('an unknown schedule: 422', async () => {
  const { patient } = await aClinic();
  const answer = await bookOn(randomUUID(), proposed(patient, []));
  expect([answer.status, ...issuesOf(answer)]).toEqual([
    422,
    'schedule-not-found Parameters.parameter[1].valueReference',
  ]);
});

/** Free slots of one minute each, from a minute on. */
async function minuteSlots({ id }: Schedule, from: number, count: number): Promise<void> {
  const entry = Array.from({ length: count }, (_, index) => ({
    request: { method: 'POST' as const, url: 'Slot' },
    resource: {
      resourceType: 'Slot' as const,
      schedule: { reference: `Schedule/${id}` },
      status: 'free' as const,
      start: minutes(from + index),
      end: minutes(from + index + 1),
    },
  }));
  const body: Bundle = { resourceType: 'Bundle', type: 'batch', entry };
  expect((await medplum('front-desk', 'POST', '/', { body })).status).toBe(200);
}

it('a schedule of hundreds of slots: finds those of the requested time', async () => {
  const { schedule, patient } = await aClinic();
  await minuteSlots(schedule, 30, 210);
  const first = await bookOn(schedule.id, proposed(patient, [], { from: 10, to: 40 }));
  expect([first.status, resourceIn('Appointment', first).slot?.length]).toEqual([201, 11]);
  const last = await bookOn(schedule.id, proposed(patient, [], { from: 230, to: 240 }));
  expect([last.status, resourceIn('Appointment', last).slot?.length]).toEqual([201, 10]);
});

it('a time of more slots than one appointment takes: 422, and nothing is written', async () => {
  const { schedule, patient } = await aClinic();
  await minuteSlots(schedule, 30, 160);
  const most = await bookOn(schedule.id, proposed(patient, [], { from: 31, to: 81 }));
  expect([most.status, resourceIn('Appointment', most).slot?.length]).toEqual([201, 50]);
  const tooMany = await bookOn(schedule.id, proposed(patient, [], { from: 81, to: 190 }));
  expect([tooMany.status, ...issuesOf(tooMany)]).toEqual([422, 'slot-mismatch Parameters.parameter[1].valueReference']);
  expect((await slotsOf(schedule)).filter((slot) => slot.startsWith('busy'))).toHaveLength(50);
});

it('slots of several schedules at the same time are one booking', async () => {
  const { schedule: surgeon, slot, patient } = await aClinic();
  const room = await aSchedule();
  const inRoom = await aSlot(room, 0, 60);
  expect((await book(proposed(patient, [slot, inRoom]))).status).toBe(201);
  expect(await slotsOf(surgeon)).toEqual(['busy 0-30']);
  expect(await slotsOf(room)).toEqual(['busy 0-30', 'free 30-60']);
});

it('one of them taken: 409, and the other stays free', async () => {
  const { schedule: surgeon, slot, patient } = await aClinic();
  const room = await aSchedule();
  const inRoom = await aSlot(room, 0, 30, { status: 'busy' });
  const answer = await book(proposed(patient, [slot, inRoom]));
  expect([answer.status, ...issuesOf(answer)]).toEqual([409, 'slot-not-free Appointment.slot[1]']);
  expect(await slotsOf(surgeon)).toEqual(['free 0-30']);
});

it('several consecutive slots are one booking', async () => {
  const { schedule, slot, patient } = await aClinic();
  const next = await aSlot(schedule, 30, 60);
  expect((await book(proposed(patient, [slot, next], { to: 60 }))).status).toBe(201);
  expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'busy 30-60']);
});

it('the slot is no longer free: 409', async () => {
  const { schedule, slot, patient } = await aClinic();
  expect((await book(proposed(patient, [slot]))).status).toBe(201);
  const second = await book(proposed(patient, [slot]));
  expect([second.status, ...issuesOf(second)]).toEqual([409, 'slot-not-free Appointment.slot[0]']);
  expect(await appointmentsOn(slot)).toHaveLength(1);
  expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
});

it.each(['busy', 'busy-tentative', 'busy-unavailable', 'entered-in-error'] as const)(
  'a slot that staff have made %s is not free: 409',
  async (status) => {
    const { schedule, patient } = await aClinic();
    const slot = await aSlot(schedule, 60, 90, { status });
    const answer = await book(proposed(patient, [slot], { from: 60, to: 90 }));
    expect([answer.status, ...issuesOf(answer)]).toEqual([409, 'slot-not-free Appointment.slot[0]']);
  },
);

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

it('two free slots for the same time are two places', async () => {
  const { schedule, slot, patient } = await aClinic();
  const second = await aSlot(schedule, 0, 30);
  expect((await book(proposed(patient, [slot]))).status).toBe(201);
  expect((await book(proposed(patient, [second]))).status).toBe(201);
  expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'busy 0-30']);
});
