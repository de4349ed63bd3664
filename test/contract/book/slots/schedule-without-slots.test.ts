import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { Bundle, Schedule } from '@medplum/fhirtypes';
import { aClinic, aSlot, book, minutes, proposed, slotsOf } from '../../fixtures.ts';
import { issuesOf, medplum, resourceIn } from '../../http.ts';

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
