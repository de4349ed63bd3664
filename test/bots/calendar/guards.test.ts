import '../config.ts';
import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { Appointment, Patient, Slot } from '@medplum/fhirtypes';
import { handler as validateAppointment } from '../../../bots/booking/validate-appointment.ts';
import { handler as validateSlot } from '../../../bots/calendar/validate-slot.ts';
import { later } from '../clock.ts';
import { withCalendars } from './fixtures.ts';

const medplum = withCalendars();

it.each([
  ['while their transaction was slow', true],
  ['though its new Slot is written after it', false],
])('staff do not move an appointment over what was booked, %s', async (_, isSlotFirst) => {
  const server = medplum();
  const { schedule } = await server.calendar();
  const [left, wanted] = [
    await server.slot(schedule, 'busy', '09:00', '09:30'),
    await server.slot(schedule, 'free', '10:00', '10:30'),
  ];
  const { id } = await server.create<Patient>({ resourceType: 'Patient' });
  const participant: Appointment['participant'] = [{ actor: { reference: `Patient/${id}` }, status: 'accepted' }];
  const stored = await server.appointment('booked', [left], { participant });
  const { start, end } = wanted;
  const meta = { author: { reference: 'Practitioner/staff' } };
  const slot: Slot = { ...left, id: randomUUID(), meta, start, end };
  const validate = (milliseconds: number) => {
    const input = { ...stored, meta, start, end, slot: [{ reference: `Slot/${slot.id}` }] };
    const event = { headers: {}, contentType: '', secrets: {}, bot: { reference: 'Bot/b' } };
    return later(milliseconds, () => validateAppointment(server.medplum, { ...event, input }));
  };
  await (isSlotFirst &&
    validateSlot(server.medplum, { input: slot, headers: {}, contentType: '', secrets: {}, bot: {} }));
  await server.change(wanted, { status: 'busy' });
  expect(await validate(10_000)).toMatchObject({ issue: [{ details: { coding: [{ code: 'schedule-overbooked' }] } }] });
});
