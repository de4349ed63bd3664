import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Patient } from '@medplum/fhirtypes';
import { eventually, until } from '../lib/until.ts';
import {
  aClinic,
  aPatient,
  appointmentsOn,
  aSchedule,
  aSlot,
  book,
  parameters,
  proposed,
  simultaneously,
  slotsOf,
  stored,
  succeeded,
} from './fixtures.ts';
import { issuesOf, medplum, refusalOf, request, resourceIn } from './http.ts';
import { aBooking, cancellation, patch, read } from './patch/fixtures.ts';
import { deletePatient, editPatient, merge } from './patients-who-go/fixtures.ts';
import { aPolicedClinic, length, whole } from './policy/fixtures.ts';
import { aPending, edit, inMedplum } from './status/fixtures.ts';

const patientOf = async (id: string) => (await read(id)).participant[0]?.actor?.reference;

/** A portal makes its patient inactive, through the service. */
const deactivate = ({ id }: Patient) =>
  request('portal-a', 'PUT', `/Patient/${id}`, { body: { resourceType: 'Patient', id, active: false } });

const isStillBooked = async (id: string) => expect((await inMedplum(id)).status).toBe('booked');

/** An appointment that can no longer be cancelled by its portal. */
async function aLateBooking() {
  const { patient, slot } = await aPolicedClinic(2, length('cancelUntil', 24, 'h'));
  const booked = succeeded('Appointment', await book(whole(slot, patient)));
  return { patient, id: booked.id ?? '' };
}

it('an appointment that is somebody else’s now shows its portal no version from before', async () => {
  const { patient, id } = await aBooking();
  await merge(patient, await aPatient());
  await eventually(() => patientOf(id)).is((one) => one !== `Patient/${patient.id}`);
  const { entry = [] } = resourceIn('Bundle', await request('portal-a', 'GET', `/Appointment/${id}/_history`));
  expect([entry.length > 0, JSON.stringify(entry).includes(`Patient/${patient.id}`)]).toEqual([true, false]);
  const [first] =
    resourceIn('Bundle', await medplum('front-desk', 'GET', `/Appointment/${id}/_history`)).entry?.slice(-1) ?? [];
  const before = await request('portal-a', 'GET', `/Appointment/${id}/_history/${first?.resource?.meta?.versionId}`);
  expect(before.status).toBe(404);
});

describe('a portal that makes its patient inactive', () => {
  it('cancels the open appointments that it could cancel itself', async () => {
    const { patient, id } = await aBooking();
    expect((await deactivate(patient)).status).toBe(200);
    await eventually(() => read(id)).is(({ status }) => status === 'cancelled');
  });

  it('is refused while one may no longer be cancelled (422); staff are not', async () => {
    const { patient, id } = await aLateBooking();
    expect(refusalOf(await deactivate(patient))).toEqual([422, 'cancellation-closed Patient.active']);
    await isStillBooked(id);
    await editPatient(patient, { active: false });
    await eventually(() => read(id)).is(({ status }) => status === 'cancelled');
  });

  it('is refused at Medplum itself, too, by PUT and by PATCH', async () => {
    const { patient, id } = await aLateBooking();
    const stored = resourceIn('Patient', await medplum('portal-a', 'GET', `/Patient/${patient.id}`));
    const put = await medplum('portal-a', 'PUT', `/Patient/${patient.id}`, { body: { ...stored, active: false } });
    const patch = await medplum('portal-a', 'PATCH', `/Patient/${patient.id}`, {
      body: [{ op: 'add', path: '/active', value: false }],
      headers: { 'content-type': 'application/json-patch+json' },
    });
    expect(refusalOf(put)).toEqual([422, 'cancellation-closed Patient.active']);
    expect(refusalOf(patch)).toEqual([422, 'cancellation-closed Patient.active']);
    await isStillBooked(id);
  });

  it('is refused while the patient has arrived, or is expected by the clinic (422)', async () => {
    const arrived = await aBooking();
    expect((await edit(arrived.id, { status: 'arrived' })).status).toBe(200);
    const { patient, schedule } = await aBooking();
    const slot = await aSlot(schedule, 60, 90);
    const body: Appointment = { ...proposed(patient, [slot], { from: 60, to: 90 }), status: 'booked' };
    expect((await medplum('front-desk', 'POST', '/Appointment', { body })).status).toBe(201);
    for (const who of [arrived.patient, patient]) {
      expect(refusalOf(await deactivate(who))).toEqual([422, 'patient-has-appointments Patient.active']);
    }
  });
});

it('a patient that clinic staff submit through the service is the clinic’s own, also from a ClientApplication', async () => {
  const { meta } = await aPatient('front-desk');
  expect(meta?.tag ?? []).toEqual([]);
});

const goes: readonly (readonly [string, (patient: Patient) => Promise<unknown>])[] = [
  ['becomes inactive', (patient) => editPatient(patient, { active: false })],
  ['is deleted', deletePatient],
];

describe.each(goes)('a patient who %s', (_, go) => {
  it('takes open appointments along: cancelled, slots free', async () => {
    const { schedule, patient, id } = await aBooking();
    const later = await aSlot(schedule, 60, 90);
    const second = succeeded('Appointment', await book(proposed(patient, [later], { from: 60, to: 90 })));
    await go(patient);
    await eventually(() => read(id)).is(({ status }) => status === 'cancelled');
    await eventually(() => read(second.id ?? '')).is(({ status }) => status === 'cancelled');
    expect(await slotsOf(schedule)).toEqual(['free 0-30', 'free 60-90']);
  });

  it('leaves what is over as it is', async () => {
    const over = await aBooking();
    expect((await edit(over.id, { status: 'fulfilled' })).status).toBe(200);
    const before = await inMedplum(over.id);
    const later = await aSlot(over.schedule, 60, 90);
    const open = succeeded('Appointment', await book(proposed(over.patient, [later], { from: 60, to: 90 })));
    await go(over.patient);
    await eventually(() => read(open.id ?? '')).is(({ status }) => status === 'cancelled');
    expect(await inMedplum(over.id)).toEqual(before);
    expect(await slotsOf(over.schedule)).toEqual(['busy 0-30', 'free 60-90']);
  });

  it('takes a request along that waits for confirmation', async () => {
    const { schedule, patient, id } = await aPending();
    await go(patient);
    await eventually(() => read(id)).is(({ status }) => status === 'cancelled');
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
    const late = await edit(id, { status: 'booked' });
    expect(issuesOf(late)[0]).toBe('transition-not-allowed Appointment.status');
  });

  it('leaves the others of an appointment for several patients; the last one takes it along, with the reason', async () => {
    const { schedule, patient, slot } = await aClinic();
    const other = await aPatient();
    const { participant, ...appointment } = proposed(patient, [slot]);
    const second = { actor: { reference: `Patient/${other.id}` }, status: 'accepted' as const };
    const booked = succeeded('Appointment', await book({ ...appointment, participant: [...participant, second] }));
    await go(patient);
    const left = await eventually(() => read(booked.id ?? '')).is((one) => one.participant.length === 1);
    expect([left.status, left.participant[0]?.actor?.reference]).toEqual(['booked', `Patient/${other.id}`]);
    expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
    await go(other);
    const cancelled = await eventually(() => read(booked.id ?? '')).is(({ status }) => status === 'cancelled');
    expect(cancelled.cancelationReason?.coding?.[0]?.code).toBe('patient-inactive');
  });

  it('a patch is then refused, unless it cancels', async () => {
    const { patient, id } = await aBooking();
    await go(patient);
    const response = await patch(id, [{ op: 'add', path: '/comment', value: 'x' }]);
    // By then the appointment may have been cancelled, which is taken from what the patch itself has met.
    const met = response.status === 200 ? resourceIn('Appointment', response).status : issuesOf(response)[0];
    expect(met).toMatch(/^(cancelled$|patient-inactive|patient-not-found)/);
    expect((await patch(id, cancellation)).status).toBe(200);
  });
});

describe('a patient who is merged into another one', () => {
  it('hands open appointments on to the survivor; time and slots stay', async () => {
    const { schedule, patient, booked, id } = await aBooking();
    const survivor = await aPatient();
    await merge(patient, survivor);
    await eventually(() => patientOf(id)).is((reference) => reference === `Patient/${survivor.id}`);
    expect(await read(id)).toMatchObject({ status: 'booked', start: booked.start, slot: booked.slot });
    expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
  });

  it('over two merges', async () => {
    const { patient, id } = await aBooking();
    const [first, second] = [await aPatient(), await aPatient()];
    await merge(first, second);
    await merge(patient, first);
    await eventually(() => patientOf(id)).is((reference) => reference === `Patient/${second.id}`);
  });

  it('into one who is inactive: the appointment is cancelled', async () => {
    const { schedule, patient, id } = await aBooking();
    const survivor = await aPatient();
    await editPatient(survivor, { active: false });
    await merge(patient, survivor);
    await eventually(() => read(id)).is(({ status }) => status === 'cancelled');
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
  });

  it('does not touch what is over', async () => {
    const { patient, id } = await aBooking();
    expect((await edit(id, { status: 'fulfilled' })).status).toBe(200);
    const open = await aBooking();
    const survivor = await aPatient();
    await merge(patient, survivor);
    await merge(open.patient, survivor);
    await eventually(() => patientOf(open.id)).is((reference) => reference === `Patient/${survivor.id}`);
    expect(await patientOf(id)).toBe(`Patient/${patient.id}`);
  });
});

/** A record that the clinic itself keeps: no portal may read it. */
async function aRecord(): Promise<Patient> {
  const body = { resourceType: 'Patient', name: [{ family: 'Muster', given: ['Kim'] }], gender: 'other' };
  return succeeded('Patient', await medplum('front-desk', 'POST', '/Patient', { body }));
}

/** A booking of portal A whose patient the clinic has merged into its own record, and a free slot an hour later. */
async function aMergedBooking() {
  const booking = await aBooking({ identifier: [{ system: 'urn:portal-a', value: randomUUID() }] });
  const record = await aRecord();
  await merge(booking.patient, record);
  await eventually(() => patientOf(booking.id)).is((reference) => reference === `Patient/${record.id}`);
  return { ...booking, record, later: await aSlot(booking.schedule, 60, 90) };
}

const found = async (query: string, role: 'portal-a' | 'portal-b' = 'portal-a') =>
  (resourceIn('Bundle', await request(role, 'GET', `/Appointment?${query}`)).entry ?? []).map(
    ({ resource }) => resource?.id,
  );

describe('an appointment whose patient the clinic has merged into its own record', () => {
  it.each(['the patient that the portal knows', 'the record of the clinic'])('is moved for %s', async (name) => {
    const { patient, record, later, id } = await aMergedBooking();
    const named = name.startsWith('the record') ? record : patient;
    const response = await book(proposed(named, [later], { id, from: 60, to: 90 }));
    expect([response.status, response.text]).toEqual([201, expect.any(String)]);
    expect(resourceIn('Appointment', response).participant.map(({ actor }) => actor?.reference)).toEqual([
      `Patient/${record.id}`,
    ]);
  });

  it('is moved for the patient handed over again', async () => {
    const { patient, record, later, id } = await aMergedBooking();
    const { participant, ...appointment } = proposed(patient, [later], { id, from: 60, to: 90 });
    const { id: _, meta: __, ...again } = patient;
    const response = await book(parameters(appointment, ['patient', again]));
    expect([response.status, response.text]).toEqual([201, expect.any(String)]);
    expect(await patientOf(id)).toBe(`Patient/${record.id}`);
    expect(participant).toHaveLength(1);
  });

  it('is replaced', async () => {
    const { patient, record, later, id } = await aMergedBooking();
    const body = parameters(proposed(patient, [later], { from: 60, to: 90 }));
    const replaced = { name: 'cancelled-appt-id', valueUri: `Appointment/${id}` };
    const response = await book({ ...body, parameter: [...body.parameter, replaced] });
    expect(response.status).toBe(201);
    expect(await patientOf(resourceIn('Appointment', response).id ?? '')).toBe(`Patient/${record.id}`);
    expect((await read(id)).status).toBe('cancelled');
  });

  it('is the answer to its first request, sent again: 200', async () => {
    const { patient, slot, booked } = await aMergedBooking();
    const again = await book(proposed(patient, [slot], { identifier: booked.identifier }));
    expect([again.status, resourceIn('Appointment', again).id]).toEqual([200, booked.id]);
    expect(await appointmentsOn(slot)).toHaveLength(1);
  });

  it('is found by the patient that the portal knows, and cancelled', async () => {
    const { patient, record, id } = await aMergedBooking();
    expect(await found(`patient=Patient/${patient.id}`)).toEqual([id]);
    expect(await found(`actor=Patient/${patient.id}`)).toEqual([id]);
    expect(await found(`patient.identifier=${patient.identifier?.[0]?.value}`)).toEqual([id]);
    expect(await found(`patient=Patient/${record.id}`)).toEqual([id]);
    expect((await patch(id, cancellation)).status).toBe(200);
  });

  it('is found over two merges as far as the portal may read', async () => {
    const booking = await aBooking();
    const between = await aPatient();
    const record = await aRecord();
    await merge(between, record);
    await merge(booking.patient, between);
    await eventually(() => patientOf(booking.id)).is((reference) => reference === `Patient/${record.id}`);
    expect(await found(`patient=Patient/${booking.patient.id}`)).toEqual([booking.id]);
  });
});

describe('nothing else of the record', () => {
  it('can be read or found: not it, not the appointments of others with it', async () => {
    const { record, id } = await aMergedBooking();
    const other = await aBooking();
    const mine = await aPatient('portal-b');
    const theirs = await aClinic();
    const foreign = succeeded('Appointment', await book(proposed(mine, [theirs.slot]), 'portal-b'));
    await merge(mine, record);
    await eventually(async () =>
      resourceIn('Appointment', await request('portal-b', 'GET', `/Appointment/${foreign.id}`)),
    ).is(({ participant }) => participant[0]?.actor?.reference === `Patient/${record.id}`);
    expect(await found(`patient=Patient/${record.id}`)).toEqual([id]);
    expect(await found(`patient=Patient/${mine.id}`)).toEqual([]);
    expect(await found(`patient=Patient/${record.id}`, 'portal-b')).toEqual([foreign.id]);
    expect((await request('portal-a', 'GET', `/Patient/${record.id}`)).status).toBe(404);
    expect((await request('portal-a', 'GET', `/Appointment/${foreign.id}`)).status).toBe(404);
    const patients = resourceIn('Bundle', await request('portal-a', 'GET', `/Patient?_id=${record.id}`));
    expect([patients.total, patients.entry ?? []]).toEqual([0, []]);
    const included = await request('portal-a', 'GET', `/Appointment?_id=${id}&_include=Appointment:patient`);
    expect(included.text).not.toContain('"gender":"other"');
    expect(other.id).not.toBe(id);
  });

  it('lets the portal book anything new for it, or move other appointments to it', async () => {
    const { patient, record, later } = await aMergedBooking();
    const other = await aBooking();
    const fresh = await book(proposed(record, [later], { from: 60, to: 90 }));
    expect(refusalOf(fresh)).toEqual([422, 'patient-not-found Appointment.participant[0].actor']);
    const old = await book(proposed(patient, [later], { from: 60, to: 90 }));
    expect(refusalOf(old)).toEqual([422, 'patient-inactive Appointment.participant[0].actor']);
    const moved = await book(proposed(record, [other.slot], { id: other.id }));
    expect(refusalOf(moved)).toEqual([422, 'patient-not-found Appointment.participant[0].actor']);
  });

  it("stands open to a stranger who knows the appointment's id", async () => {
    const { record, later, id } = await aMergedBooking();
    const response = await book(proposed(record, [later], { id, from: 60, to: 90 }), 'portal-b');
    expect(refusalOf(response)).toEqual([422, 'patient-not-found Appointment.participant[0].actor']);
  });
});

const system = 'https://example.org/patients';

describe('a new patient of two first bookings at the same moment', () => {
  it('is one patient in the end, with all the appointments, and is booked for before and afterwards', async () => {
    const schedule = await aSchedule();
    const slots = await Promise.all([0, 1, 2, 3, 4].map((index) => aSlot(schedule, index * 30, index * 30 + 30)));
    const value = randomUUID();
    const patient: Patient = { resourceType: 'Patient', id: 'new', identifier: [{ system, value }] };
    const bookFor = (index: number) => {
      const slot = slots[index];
      const appointment = proposed(patient, slot ? [slot] : [], { from: index * 30, to: index * 30 + 30 });
      return book(parameters(appointment, ['patient', patient]));
    };
    const responses = [...(await simultaneously(3, bookFor)), await bookFor(3)];
    const booked = responses.map((response) => succeeded('Appointment', response));
    const all = async (): Promise<Appointment[]> =>
      Promise.all(
        booked.map(async ({ id }) => resourceIn('Appointment', await request('portal-a', 'GET', `/Appointment/${id}`))),
      );
    const referenced = (appointments: readonly Appointment[]) =>
      new Set(appointments.map(({ participant }) => participant[0]?.actor?.reference));
    const ofOnePatient = await until(all, (appointments) => referenced(appointments).size === 1);
    const [survivor] = referenced(ofOnePatient);
    const found = await stored('Patient', `identifier=${system}|${value}`);
    expect(ofOnePatient.every(({ status }) => status === 'booked')).toBe(true);
    expect(found.filter((one) => one.active !== false).map(({ id }) => `Patient/${id}`)).toEqual([survivor]);
    const later = succeeded('Appointment', await bookFor(4));
    expect(later.participant[0]?.actor?.reference).toBe(survivor);
  });

  it('patients that a portal has submitted by itself are left alone', async () => {
    const identifier = [{ system, value: randomUUID() }];
    const body: Patient = { resourceType: 'Patient', identifier };
    const made = await simultaneously(2, () => request('portal-a', 'POST', '/Patient', { body }));
    expect(made.map(({ status }) => status)).toEqual([201, 201]);
    const schedule = await aSchedule();
    const slot = await aSlot(schedule, 0, 30);
    const appointment = proposed({ resourceType: 'Patient', id: 'new' }, [slot]);
    const response = await book(parameters(appointment, ['patient', { ...body, id: 'new' }]));
    expect(response.status).toBe(422);
    const found = await stored('Patient', `identifier=${system}|${identifier[0]?.value}`);
    expect(found.filter(({ active }) => active !== false)).toHaveLength(2);
  });
});
