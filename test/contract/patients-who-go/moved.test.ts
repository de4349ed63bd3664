import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Patient } from '@medplum/fhirtypes';
import { until } from '../../lib/until.ts';
import { aClinic, aPatient, appointmentsOn, aSlot, book, parameters, proposed, succeeded } from '../fixtures.ts';
import { issuesOf, medplum, request, resourceIn } from '../http.ts';
import { aBooking, cancellation, patch, read } from '../patch/fixtures.ts';
import { merge } from './fixtures.ts';

/** A record that the clinic itself keeps: no portal may read it. */
async function aRecord(): Promise<Patient> {
  const body = { resourceType: 'Patient', name: [{ family: 'Muster', given: ['Kim'] }], gender: 'other' };
  return succeeded('Patient', await medplum('front-desk', 'POST', '/Patient', { body }));
}

const patientOf = async (id: string) => (await read(id)).participant[0]?.actor?.reference;

/** A booking of portal A whose patient the clinic has merged into its own record, and a free slot an hour later. */
async function aMergedBooking() {
  const booking = await aBooking({ identifier: [{ system: 'urn:portal-a', value: randomUUID() }] });
  const record = await aRecord();
  await merge(booking.patient, record);
  await until(
    () => patientOf(booking.id),
    (reference) => reference === `Patient/${record.id}`,
  );
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
    const answer = await book(proposed(named, [later], { id, from: 60, to: 90 }));
    expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
    expect(resourceIn('Appointment', answer).participant.map(({ actor }) => actor?.reference)).toEqual([
      `Patient/${record.id}`,
    ]);
  });

  it('is moved for the patient handed over again', async () => {
    const { patient, record, later, id } = await aMergedBooking();
    const { participant, ...appointment } = proposed(patient, [later], { id, from: 60, to: 90 });
    const { id: _, meta: __, ...again } = patient;
    const answer = await book(parameters(appointment, ['patient', again]));
    expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
    expect(await patientOf(id)).toBe(`Patient/${record.id}`);
    expect(participant).toHaveLength(1);
  });

  it('is replaced', async () => {
    const { patient, record, later, id } = await aMergedBooking();
    const body = parameters(proposed(patient, [later], { from: 60, to: 90 }));
    const replaced = { name: 'cancelled-appt-id', valueUri: `Appointment/${id}` };
    const answer = await book({ ...body, parameter: [...body.parameter, replaced] });
    expect(answer.status).toBe(201);
    expect(await patientOf(resourceIn('Appointment', answer).id ?? '')).toBe(`Patient/${record.id}`);
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
    await until(
      () => patientOf(booking.id),
      (reference) => reference === `Patient/${record.id}`,
    );
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
    await until(
      async () => resourceIn('Appointment', await request('portal-b', 'GET', `/Appointment/${foreign.id}`)),
      ({ participant }) => participant[0]?.actor?.reference === `Patient/${record.id}`,
    );
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
    expect([fresh.status, ...issuesOf(fresh)]).toEqual([422, 'patient-not-found Appointment.participant[0].actor']);
    const old = await book(proposed(patient, [later], { from: 60, to: 90 }));
    expect([old.status, ...issuesOf(old)]).toEqual([422, 'patient-inactive Appointment.participant[0].actor']);
    const moved = await book(proposed(record, [other.slot], { id: other.id }));
    expect([moved.status, ...issuesOf(moved)]).toEqual([422, 'patient-not-found Appointment.participant[0].actor']);
  });

  it("stands open to a stranger who knows the appointment's id", async () => {
    const { record, later, id } = await aMergedBooking();
    const answer = await book(proposed(record, [later], { id, from: 60, to: 90 }), 'portal-b');
    expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'patient-not-found Appointment.participant[0].actor']);
  });
});
