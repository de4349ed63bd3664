import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { aClinic, aSlot, book, proposed, slotsOf } from '../fixtures.ts';
import { issuesOf, resourceIn } from '../http.ts';

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
