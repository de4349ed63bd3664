import '../config.ts';
import { expect, it } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { handler } from '../../../bots/calendar/sync-slots.ts';
import { type Stored, withCalendars } from './fixtures.ts';

const medplum = withCalendars();

const changed = (input: Appointment | { deletedResource: Appointment }) =>
  handler(medplum().medplum, { input } as Parameters<typeof handler>[1]);

/** An appointment whose slot was taken for it. */
async function booked(status: 'booked' | 'pending' = 'booked') {
  const slot = await medplum().slot(await medplum().schedule(), 'free', '09:00', '09:30');
  const appointment = await medplum().appointment(status, [slot]);
  await changed(appointment);
  return { slot, appointment };
}

const statusOf = async ({ id }: Stored<Slot>) => (await medplum().read<Slot>(`Slot/${id}`))?.status;

it.each([
  ['booked', 'busy'],
  ['pending', 'busy-tentative'],
] as const)('the slots of an appointment that is %s are %s', async (status, expected) => {
  const { slot } = await booked(status);
  expect(await statusOf(slot)).toBe(expected);
});

it('a cancelled appointment gives its slots back', async () => {
  const { slot, appointment } = await booked();
  await changed(await medplum().change<Appointment>(appointment, { status: 'cancelled' }));
  expect(await statusOf(slot)).toBe('free');
});

it('a deleted appointment gives its slots back', async () => {
  const { slot, appointment } = await booked();
  await medplum().fhir('DELETE', `Appointment/${appointment.id}`);
  await changed({ deletedResource: appointment });
  expect(await statusOf(slot)).toBe('free');
});
