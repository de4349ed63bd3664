import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { until } from '../../lib/until.ts';
import { aClinic, aPatient, appointmentsOn, aSlot, book, proposed, slotsOf, succeeded } from '../fixtures.ts';
import { issuesOf, medplum } from '../http.ts';
import { config } from '../installation.ts';
import { aBooking } from '../patch/fixtures.ts';
import { edit } from './fixtures.ts';

const onPurpose = { extension: [{ url: artefactUri(config, 'LocalOverbooking'), valueBoolean: true }] };

/** An appointment as staff write it in Medplum. */
const write = (body: Appointment) =>
  medplum('front-desk', 'POST', '/Appointment', { body: { ...body, status: 'booked' } });

describe('an appointment that staff write in Medplum', () => {
  it('on a slot that another one holds: refused, nothing is written', async () => {
    const { slot, patient } = await aBooking();
    const answer = await write(proposed(patient, [slot]));
    expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'schedule-overbooked Appointment.slot[0]']);
    expect(answer.text).toContain('LocalOverbooking');
    expect(await appointmentsOn(slot)).toHaveLength(1);
  });

  it('on a free slot whose time is taken: refused', async () => {
    const { schedule, slot, patient } = await aClinic();
    await aSlot(schedule, 10, 60, { status: 'busy' });
    const answer = await write(proposed(patient, [slot]));
    expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'schedule-overbooked Appointment.slot[0]']);
  });

  it('there, but on purpose: written', async () => {
    const { slot, patient } = await aBooking();
    expect((await write({ ...proposed(patient, [slot]), ...onPurpose })).status).toBe(201);
    expect(await appointmentsOn(slot)).toHaveLength(2);
  });

  it("on a slot of its own over another's, as Medplum's Provider app writes it: refused", async () => {
    const { schedule, slot, patient } = await aBooking();
    const own = await aSlot(schedule, 10, 40, { status: 'busy', ...onPurpose });
    const answer = await write(proposed(patient, [own], { from: 10, to: 40 }));
    expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'schedule-overbooked Appointment.slot[0]']);
    expect(answer.text).toContain(`Slot/${slot.id} takes the time`);
    expect(await appointmentsOn(own)).toEqual([]);
  });

  it('on a slot of its own that they have made for it: written', async () => {
    const { schedule, patient } = await aClinic();
    const own = await aSlot(schedule, 60, 90, { status: 'busy' });
    expect((await write(proposed(patient, [own], { from: 60, to: 90 }))).status).toBe(201);
  });
});

it('a portal does not overbook: its extension is dropped', async () => {
  const { slot, patient } = await aClinic();
  const booked = succeeded('Appointment', await book({ ...proposed(patient, [slot]), ...onPurpose }));
  expect(booked.extension).toBeUndefined();
  expect((await book({ ...proposed(patient, [slot]), ...onPurpose })).status).toBe(409);
});

describe('a slot of a cancelled appointment', () => {
  it.each(['busy', 'busy-unavailable'] as const)('that staff set %s afterwards stays so', async (status) => {
    const { schedule, slot, id } = await aBooking();
    expect((await edit(id, { status: 'cancelled' })).status).toBe(200);
    await until(
      () => slotsOf(schedule),
      (slots) => slots.join() === 'free 0-30',
    );
    const free = succeeded('Slot', await medplum('front-desk', 'GET', `/Slot/${slot.id}`));
    succeeded('Slot', await medplum('front-desk', 'PUT', `/Slot/${slot.id}`, { body: { ...free, status } }));
    // Its deletion lets the service look at its slots again; a later one shows that it has done so.
    expect((await medplum('front-desk', 'DELETE', `/Appointment/${id}`)).status).toBe(200);
    const later = await aSlot(schedule, 60, 90);
    const other = succeeded('Appointment', await book(proposed(await aPatient(), [later], { from: 60, to: 90 })));
    expect((await edit(other.id ?? '', { status: 'cancelled' })).status).toBe(200);
    await until(
      () => slotsOf(schedule),
      (slots) => slots.join() === `${status} 0-30,free 60-90`,
    );
  });

  it('that was never on offer goes with it', async () => {
    const { schedule, patient } = await aClinic();
    const own = await aSlot(schedule, 60, 90, { status: 'busy' });
    const made = succeeded('Appointment', await write(proposed(patient, [own], { from: 60, to: 90 })));
    expect((await edit(made.id ?? '', { status: 'cancelled' })).status).toBe(200);
    await until(
      () => slotsOf(schedule),
      (slots) => slots.join() === 'free 0-30',
    );
  });
});
