import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { bookingErrors } from '../../../core/fhir/outcome/errors.ts';
import { scaled } from '../../lib/time-scale.ts';
import { eventually, until } from '../../lib/until.ts';
import {
  aClinic,
  aPatient,
  appointmentsOn,
  aSlot,
  book,
  minutes,
  proposed,
  slotsOf,
  stored,
  succeeded,
} from '../fixtures.ts';
import { issuesOf, medplum, refusalOf } from '../http.ts';
import { config } from '../installation.ts';
import { aBooking, cancellation, fhirPathPatch, patch, replacing } from '../patch/fixtures.ts';
import { runBot } from '../requests/fixtures.ts';
import { aPending, byHand, edit, inMedplum } from './fixtures.ts';

const deactivate = async (id: string | undefined) => {
  const response = await medplum('front-desk', 'PATCH', `/Patient/${id}`, {
    body: [{ op: 'add', path: '/active', value: false }],
    headers: { 'content-type': 'application/json-patch+json' },
  });
  expect(response.status).toBe(200);
};

describe('what clinic staff cannot do in Medplum', () => {
  it.each<[string, (known: { slot: string; patient: string }) => Partial<Appointment>, string]>([
    [
      'take a slot at another time',
      ({ slot }) => ({ slot: [{ reference: slot }] }),
      'slot-mismatch Appointment.slot[0]',
    ],
    [
      'change the patient',
      ({ patient }) => ({ participant: [{ actor: { reference: patient, display: 'x' }, status: 'accepted' }] }),
      'patient-mismatch Appointment.participant[0].actor',
    ],
    ["take the requestor's tag away", () => ({ meta: {} }), 'immutable-element Appointment.meta.tag'],
    ['go back to pending', () => ({ status: 'pending' }), 'transition-not-allowed Appointment.status'],
  ])('%s: refused, nothing changed', async (_, changes, issue) => {
    const { schedule, id } = await aBooking();
    const before = await inMedplum(id);
    const [slot, patient] = [await aSlot(schedule, 60, 90), await aPatient()];
    const response = await edit(id, changes({ slot: `Slot/${slot.id}`, patient: `Patient/${patient.id}` }));
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(response.status).toBeLessThan(500);
    expect(issuesOf(response)[0]).toBe(issue);
    expect(await inMedplum(id)).toEqual(before);
  });

  it('move it into the past', async () => {
    const { id } = await aBooking();
    const past = { start: '2020-01-06T08:00:00Z', end: '2020-01-06T08:30:00Z' };
    expect(issuesOf(await edit(id, past))).toEqual(['start-in-past Appointment.start']);
  });

  it('move one that is cancelled', async () => {
    const { id } = await aBooking();
    expect((await edit(id, { status: 'cancelled' })).status).toBe(200);
    expect(issuesOf(await edit(id, { start: minutes(60), end: minutes(90) }))).toEqual([
      'appointment-closed Appointment',
    ]);
  });

  it('give it to another doctor, who would still be on offer', async () => {
    const doctors = await Promise.all(
      [1, 2].map(async () => {
        const made = await medplum('front-desk', 'POST', '/Practitioner', { body: { resourceType: 'Practitioner' } });
        return {
          actor: { reference: `Practitioner/${succeeded('Practitioner', made).id}` },
          status: 'accepted' as const,
        };
      }),
    );
    const [one, other] = doctors;
    const { slot, patient } = await aClinic({ actor: one ? [one.actor] : [] });
    const { participant, ...rest } = proposed(patient, [slot]);
    const body = { ...rest, status: 'booked', participant: [...participant, one] };
    const { id = '' } = succeeded('Appointment', await medplum('front-desk', 'POST', '/Appointment', { body }));
    const given = { participant: [...participant, ...(other ? [other] : [])] };
    expect(issuesOf(await edit(id, given))).toEqual(['slot-mismatch Appointment.participant[1].actor']);
    expect((await edit(id, { participant: [...participant, ...doctors] })).status).toBe(200);
  });

  it('make an appointment for an inactive patient', async () => {
    const { schedule } = await aBooking();
    const [later, patient] = [await aSlot(schedule, 60, 90), await aPatient()];
    await deactivate(patient.id);
    const body = { ...proposed(patient, [later], { from: 60, to: 90 }), status: 'booked' };
    const response = await medplum('front-desk', 'POST', '/Appointment', { body });
    expect(issuesOf(response)).toEqual(['patient-inactive Appointment.participant[0].actor']);
    expect(await slotsOf(schedule)).toContain('free 60-90');
  });

  it('delete an appointment that is open; a cancelled one they may', async () => {
    const { schedule, id } = await aBooking();
    const before = await inMedplum(id);
    const refused = await medplum('front-desk', 'DELETE', `/Appointment/${id}`);
    expect(issuesOf(refused)).toEqual(['transition-not-allowed Appointment.status']);
    expect(await inMedplum(id)).toEqual(before);
    expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
    expect((await edit(id, { status: 'cancelled' })).status).toBe(200);
    expect((await medplum('front-desk', 'DELETE', `/Appointment/${id}`)).status).toBe(200);
  });

  it('everything else they may: a comment', async () => {
    const { id } = await aBooking();
    expect((await edit(id, { comment: 'Room 5' })).status).toBe(200);
    expect((await inMedplum(id)).comment).toBe('Room 5');
  });
});

it('clinic staff move an appointment: its Slots follow, and its old time is offered again', async () => {
  const { schedule, id } = await aBooking();
  const body = [
    { op: 'replace', path: '/start', value: minutes(60) },
    { op: 'replace', path: '/end', value: minutes(90) },
  ];
  const headers = { 'content-type': 'application/json-patch+json' };
  expect((await medplum('admin', 'PATCH', `/Appointment/${id}`, { body, headers })).status).toBe(200);
  await eventually(() => slotsOf(schedule)).is((slots) => slots.join() === 'free 0-30,busy 60-90');
  const { slot = [] } = await inMedplum(id);
  expect(slot).toHaveLength(1);
});

/** Medplum's own operations are there from 5.1 on; where they are not, there is nothing to keep working. */
const call = (id: string, operation: string) =>
  medplum('front-desk', 'POST', `/Appointment/${id}/$${operation}`, {
    body: { resourceType: 'Parameters', parameter: [] },
  });

describe("Medplum's own operations, called by clinic staff", () => {
  it('$confirm: booked, the slot busy', async () => {
    const { schedule, id } = await aPending();
    const { status, text } = await call(id, 'confirm');
    if (status !== 404) {
      expect([status, text]).toEqual([200, expect.any(String)]);
      expect((await inMedplum(id)).status).toBe('booked');
      await eventually(() => slotsOf(schedule)).is((slots) => slots.join() === 'busy 0-30');
    }
  });

  it('$cancel, which deletes the slot: cancelled, its time is offered again', async () => {
    const { schedule, id } = await aBooking();
    const { status, text } = await call(id, 'cancel');
    if (status !== 404) {
      expect([status, text]).toEqual([200, expect.any(String)]);
      expect((await inMedplum(id)).status).toBe('cancelled');
      await eventually(() => slotsOf(schedule)).is((slots) => slots.join() === 'free 0-30');
    }
  });
});

const onPurpose = { extension: [{ url: artefactUri(config, 'LocalOverbooking'), valueBoolean: true }] };

/** An appointment as staff write it in Medplum. */
const write = (body: Appointment) =>
  medplum('front-desk', 'POST', '/Appointment', { body: { ...body, status: 'booked' } });

describe('an appointment that staff write in Medplum', () => {
  it('on a slot that another one holds: refused, nothing is written', async () => {
    const { slot, patient } = await aBooking();
    const response = await write(proposed(patient, [slot]));
    const { status } = bookingErrors['schedule-overbooked'];
    expect(refusalOf(response)).toEqual([status, 'schedule-overbooked Appointment.slot[0]']);
    expect(response.text).toContain('LocalOverbooking');
    expect(await appointmentsOn(slot)).toHaveLength(1);
  });

  it('on a free slot whose time is taken: refused', async () => {
    const { schedule, slot, patient } = await aClinic();
    await aSlot(schedule, 10, 60, { status: 'busy' });
    expect(refusalOf(await write(proposed(patient, [slot])))).toEqual([400, 'schedule-overbooked Appointment.slot[0]']);
  });

  it('there, but on purpose: written', async () => {
    const { slot, patient } = await aBooking();
    expect((await write({ ...proposed(patient, [slot]), ...onPurpose })).status).toBe(201);
    expect(await appointmentsOn(slot)).toHaveLength(2);
  });

  it("on a slot of its own over another's, as Medplum's Provider app writes it: refused", async () => {
    const { schedule, slot, patient } = await aBooking();
    const own = await aSlot(schedule, 10, 40, { status: 'busy' });
    const response = await write(proposed(patient, [own], { from: 10, to: 40 }));
    expect(refusalOf(response)).toEqual([400, 'schedule-overbooked Appointment.slot[0]']);
    expect(response.text).toContain(`Slot/${slot.id} takes the time`);
    expect(await appointmentsOn(own)).toEqual([]);
    const meant = await aSlot(schedule, 10, 40, { status: 'busy', ...onPurpose });
    expect((await write(proposed(patient, [meant], { from: 10, to: 40 }))).status).toBe(201);
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
    await eventually(() => slotsOf(schedule)).is((slots) => slots.join() === 'free 0-30');
    const free = succeeded('Slot', await medplum('front-desk', 'GET', `/Slot/${slot.id}`));
    succeeded('Slot', await medplum('front-desk', 'PUT', `/Slot/${slot.id}`, { body: { ...free, status } }));
    // Its deletion lets the service look at its slots again; a later one shows that it has done so.
    expect((await medplum('front-desk', 'DELETE', `/Appointment/${id}`)).status).toBe(200);
    const later = await aSlot(schedule, 60, 90);
    const appointment = succeeded('Appointment', await book(proposed(await aPatient(), [later], { from: 60, to: 90 })));
    expect((await edit(appointment.id ?? '', { status: 'cancelled' })).status).toBe(200);
    await eventually(() => slotsOf(schedule)).is((slots) => slots.join() === `${status} 0-30,free 60-90`);
  });

  it('that was never on offer goes with it', async () => {
    const { schedule, patient } = await aClinic();
    const own = await aSlot(schedule, 60, 90, { status: 'busy' });
    const made = succeeded('Appointment', await write(proposed(patient, [own], { from: 60, to: 90 })));
    expect((await edit(made.id ?? '', { status: 'cancelled' })).status).toBe(200);
    await eventually(() => slotsOf(schedule)).is((slots) => slots.join() === 'free 0-30');
  });
});

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
    const appointment = succeeded('Appointment', await book(proposed(await aPatient(), [later], { from: 60, to: 90 })));
    expect((await edit(appointment.id ?? '', { status: 'cancelled' })).status).toBe(200);
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
    const appointment = succeeded('Appointment', await medplum('front-desk', 'POST', '/Appointment', { body }));
    await until(() => slotsOf(schedule), are(['busy 0-30']));
    expect((await edit(appointment.id ?? '', { status: 'cancelled' })).status).toBe(200);
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
