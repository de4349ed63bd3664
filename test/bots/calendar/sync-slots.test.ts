import '../config.ts';
import { expect, it } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { handler } from '../../../bots/calendar/sync-slots.ts';
import { botSource } from '../../../core/config/bots.ts';
import { bundleBot } from '../../../scripts/build/bots.ts';
import { config, patient, stored } from '../../core/booking/change.cases.ts';
import { compile, run } from '../server.ts';
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

it('a slot that staff take while the service gives it back stays theirs', async () => {
  const appointment: Appointment = { ...stored, status: 'cancelled', slot: [{ reference: 'Slot/1' }] };
  const slot: Slot = {
    resourceType: 'Slot',
    id: '1',
    schedule: { reference: 'Schedule/1' },
    status: 'busy',
    start: '2031-01-06T08:00:00.000Z',
    end: '2031-01-06T08:30:00.000Z',
    identifier: [{ system: 'https://example.org/fhir/NamingSystem/LocalSlotOrigin', value: '1' }],
  };
  let reads = 0;
  const byStaff = { ...slot, meta: { author: { reference: 'Practitioner/staff' } } };
  const server = {
    appointment,
    patients: [patient],
    written: [],
    get slots() {
      reads += 1;
      return [reads === 1 ? slot : byStaff];
    },
  };
  const script = compile(await bundleBot(botSource('sync-slots'), config));
  // The history that would tell when it was given back cannot be read here.
  await expect(run(script, { input: appointment }, server)).rejects.toThrow('could not be read');
  expect(server.written).toEqual([]);
});
