import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Schedule, Slot, Task } from '@medplum/fhirtypes';
import { resolveCollisions } from '../../../../bots/lib/booking/collisions.ts';
import {
  aPortal,
  aSchedule,
  aSlot,
  at,
  booked,
  extension,
  inMinutes,
  invalid,
  only,
  writes,
} from '../../booking/fixtures.ts';
import { configured } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';

const medplum = withMedplum();

/** An appointment from 9:00 to 9:30, and what somebody writes over it. */
async function setting(status: Appointment['status'], taking: Partial<Slot> = {}) {
  const portal = await aPortal(medplum());
  const made = await booked(medplum(), portal, { status });
  const over = await aSlot(medplum(), made.schedule, '09:15', '09:45', { status: 'busy', ...taking });
  return { ...made, portal, over };
}

const resolve = (slot: Slot) => resolveCollisions(medplum().medplum, slot);

const read = ({ id }: Appointment) => medplum().read<Appointment>(`Appointment/${id}`);

const tasksOf = ({ id }: Appointment) => medplum().find<Task>(`Task?focus=Appointment/${id}`);

describe('what the clinic writes over booked time', () => {
  it.each(['pending', 'proposed'] as const)(
    'cancels an appointment that is %s and gives back its slot',
    async (status) => {
      const { appointment, slot, over } = await setting(status);
      await medplum().create<Appointment>({
        ...{ resourceType: 'Appointment', status: 'booked', start: over.start, end: over.end },
        slot: [{ reference: `Slot/${over.id}` }],
        participant: [{ actor: { display: 'Room 5' }, status: 'accepted' }],
      });
      await resolve(over);
      expect(await read(appointment)).toMatchObject({
        status: 'cancelled',
        cancelationReason: { coding: [{ code: 'slot-not-free' }] },
      });
      expect(await medplum().read(`Slot/${slot.id}`)).toMatchObject({ status: 'free' });
      expect(await tasksOf(appointment)).toEqual([]);
    },
  );

  it.each([
    ['booked', {}],
    ['pending', { status: 'busy-unavailable' }],
  ] as const)('is for staff to decide if the appointment is %s (%j)', async (status, taking) => {
    const { appointment, over, slot } = await setting(status, taking);
    await configured({ timeZone: 'Asia/Kolkata' }, () => resolve(over));
    await resolve(over);
    expect(await read(appointment)).toMatchObject({ status });
    const description = expect.stringContaining(' 14:45–15:15 (Asia/Kolkata), takes time');
    const reasonReference = { reference: `Slot/${over.id}` };
    expect(await tasksOf(appointment)).toMatchObject([{ status: 'requested', description, reasonReference }]);
    expect(await medplum().read(`Slot/${slot.id}`)).toMatchObject({ status: slot.status });
  });

  it.each([
    ['says that it overbooks', { extension: [extension('LocalOverbooking', { valueBoolean: true })] }],
    ['is of another schedule', { schedule: 'another' }],
    ['is over', { start: inMinutes(-60), end: inMinutes(-30) }],
  ])('is no collision if it %s', async (_, more) => {
    const { schedule: other, ...changes } = more as Partial<Omit<Slot, 'schedule'>> & { schedule?: string };
    const schedule = other ? { reference: `Schedule/${(await aSchedule(medplum())).id}` } : undefined;
    const { appointment, over } = await setting('booked', { ...changes, ...(schedule && { schedule }) });
    await resolve(over);
    expect(await tasksOf(appointment)).toEqual([]);
  });
});

it('of two appointments at that time staff hear of one, although Medplum does not take what is written about the other', async () => {
  const { appointment, schedule, portal } = await setting('booked');
  const { appointment: second } = await booked(medplum(), portal, { schedule, from: '10:00', to: '10:30' });
  const over = await aSlot(medplum(), schedule, '09:00', '11:00', { status: 'busy-unavailable' });
  medplum().interfere(only(writes, invalid));
  await expect(resolve(over)).rejects.toThrow('could not be written');
  expect([await tasksOf(appointment), await tasksOf(second)].flat()).toHaveLength(1);
});

it('of very many slots at that time all are looked at, page by page', async () => {
  const { appointment, schedule, portal, over } = await setting('booked');
  const many = (schedule: Schedule, count: number) =>
    medplum().transaction(
      Array.from({ length: count }, () => ({
        request: { method: 'POST', url: 'Slot' },
        resource: {
          resourceType: 'Slot',
          schedule: { reference: `Schedule/${schedule.id}` },
          status: 'busy-unavailable',
          start: at('09:20'),
          end: at('09:40'),
        },
      })),
    );
  await many(schedule, 210);
  const last = await booked(medplum(), portal, { schedule, from: '09:25', to: '09:35' });
  await resolve(over);
  expect(await tasksOf(appointment)).toHaveLength(1);
  expect(await tasksOf(last.appointment)).toHaveLength(1);
});
