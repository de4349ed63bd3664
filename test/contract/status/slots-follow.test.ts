import { describe, expect, it } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { scaled } from '../../lib/time-scale.ts';
import { until } from '../../lib/until.ts';
import { aClinic, aPatient, aSlot, book, minutes, proposed, slotsOf, stored, succeeded } from '../fixtures.ts';
import { medplum } from '../http.ts';
import { config } from '../installation.ts';
import { cancellation, fhirPathPatch, patch, replacing } from '../patch/fixtures.ts';
import { runBot } from '../requests/fixtures.ts';
import { aPending, byHand, edit, inMedplum } from './fixtures.ts';

const are = (wanted: readonly string[]) => (slots: readonly string[]) => slots.join() === wanted.join();

describe('the slots follow what clinic staff do in Medplum', () => {
  it('confirmed by PUT: busy', async () => {
    const { schedule, id } = await aPending();
    expect(await slotsOf(schedule)).toEqual(['busy-tentative 0-30']);
    expect((await edit(id, { status: 'booked' })).status).toBe(200);
    await until(() => slotsOf(schedule), are(['busy 0-30']));
  });

  it.each<[string, unknown]>([
    ['JSON Patch', [{ op: 'replace', path: '/status', value: 'booked' }]],
    ['FHIRPath Patch', fhirPathPatch(replacing('Appointment.status', { valueCode: 'booked' }))],
  ])('confirmed by %s in Medplum: busy', async (_, body) => {
    const { schedule, id } = await aPending();
    const headers = { 'content-type': Array.isArray(body) ? 'application/json-patch+json' : 'application/fhir+json' };
    expect((await medplum('front-desk', 'PATCH', `/Appointment/${id}`, { body, headers })).status).toBe(200);
    await until(() => slotsOf(schedule), are(['busy 0-30']));
  });

  it('confirmed by staff at the service: busy', async () => {
    const { schedule, id } = await aPending();
    const confirmation = [{ op: 'replace', path: '/status', value: 'booked' }];
    expect((await patch(id, confirmation, 'front-desk')).status).toBe(200);
    await until(() => slotsOf(schedule), are(['busy 0-30']));
  });

  it('cancelled: free again, and whole', async () => {
    const { schedule, slot, patient } = await aClinic(byHand, { end: minutes(240) });
    const pending = succeeded('Appointment', await book(proposed(patient, [slot], { from: 60, to: 90 })));
    expect(await slotsOf(schedule)).toEqual(['free 0-60', 'busy-tentative 60-90', 'free 90-240']);
    expect((await edit(pending.id ?? '', { status: 'cancelled' })).status).toBe(200);
    await until(() => slotsOf(schedule), are(['free 0-240']));
  });

  it('cancelled with its slots deleted, as by the $cancel of Medplum: offered again', async () => {
    const { schedule, slot, patient } = await aClinic({}, { end: minutes(240) });
    const booked = succeeded('Appointment', await book(proposed(patient, [slot], { from: 60, to: 90 })));
    const appointment = await inMedplum(booked.id ?? '');
    const transaction = {
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [
        {
          request: { method: 'PUT', url: `Appointment/${booked.id}` },
          resource: { ...appointment, status: 'cancelled' },
        },
        { request: { method: 'DELETE', url: `Slot/${slot.id}` } },
      ],
    };
    expect((await medplum('front-desk', 'POST', '', { body: transaction })).status).toBe(200);
    await until(() => slotsOf(schedule), are(['free 0-240']));
  });

  it('cancelled, its slot taken away by the clinic, then deleted: not offered again', async () => {
    const { schedule, slot, id } = await aPending();
    expect((await edit(id, { status: 'cancelled' })).status).toBe(200);
    await until(() => slotsOf(schedule), are(['free 0-30']));
    expect((await medplum('front-desk', 'DELETE', `/Slot/${slot.id}`)).status).toBe(200);
    expect((await medplum('front-desk', 'DELETE', `/Appointment/${id}`)).status).toBe(200);
    const later = await aSlot(schedule, 60, 90);
    const other = succeeded('Appointment', await book(proposed(await aPatient(), [later], { from: 60, to: 90 })));
    expect((await edit(other.id ?? '', { status: 'cancelled' })).status).toBe(200);
    await until(() => slotsOf(schedule), are(['free 60-90']));
  });

  it('a slot that was never offered, but made for the appointment: gone with it', async () => {
    const { schedule, patient } = await aClinic();
    const own = await aSlot(schedule, 60, 90, { status: 'busy' });
    const body = { ...proposed(patient, [own], { from: 60, to: 90 }), status: 'booked' };
    const made = succeeded('Appointment', await medplum('front-desk', 'POST', '/Appointment', { body }));
    expect((await medplum('front-desk', 'DELETE', `/Slot/${own.id}`)).status).toBe(200);
    expect((await edit(made.id ?? '', { status: 'cancelled' })).status).toBe(200);
    await until(() => slotsOf(schedule), are(['free 0-30']));
  });

  it('a slot that another appointment holds, too, is what that one needs', async () => {
    const { schedule, slot, patient, id } = await aPending();
    const extension = [{ url: artefactUri(config, 'LocalOverbooking'), valueBoolean: true }];
    const body = { ...proposed(patient, [slot]), extension, status: 'booked' };
    const other = succeeded('Appointment', await medplum('front-desk', 'POST', '/Appointment', { body }));
    await until(() => slotsOf(schedule), are(['busy 0-30']));
    expect((await edit(other.id ?? '', { status: 'cancelled' })).status).toBe(200);
    await until(() => slotsOf(schedule), are(['busy-tentative 0-30']));
    expect((await edit(id, { status: 'cancelled' })).status).toBe(200);
    await until(() => slotsOf(schedule), are(['free 0-30']));
  });

  it('an appointment that staff make in Medplum takes its slot', async () => {
    const { schedule, slot, patient } = await aClinic({}, { end: minutes(60) });
    const body = { ...proposed(patient, [slot]), status: 'booked' };
    expect((await medplum('front-desk', 'POST', '/Appointment', { body })).status).toBe(201);
    await until(() => slotsOf(schedule), are(['busy 0-30', 'free 30-60']));
  });

  it('fulfilled: busy stays', async () => {
    const { schedule, id } = await aPending();
    expect((await edit(id, { status: 'booked' })).status).toBe(200);
    await until(() => slotsOf(schedule), are(['busy 0-30']));
    expect((await edit(id, { status: 'fulfilled' })).status).toBe(200);
    expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
  });
});

it(
  'a slot that staff have taken stays theirs, however often the portal changes the cancelled appointment',
  async () => {
    const { schedule, slot, patient } = await aClinic();
    const { id = '' } = succeeded('Appointment', await book(proposed(patient, [slot])));
    expect((await patch(id, cancellation)).status).toBe(200);
    await until(() => slotsOf(schedule), are(['free 0-30']));
    const [free] = await stored('Slot', `_id=${slot.id}`);
    const taken = await medplum('front-desk', 'PUT', `/Slot/${slot.id}`, { body: { ...free, status: 'busy' } });
    expect(taken.status).toBe(200);
    for (let count = 0; count < 101; count++) {
      expect((await patch(id, [{ op: 'add', path: '/comment', value: `${count}` }])).status).toBe(200);
    }
    await runBot('reconcile');
    expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
  },
  scaled(60_000),
);
