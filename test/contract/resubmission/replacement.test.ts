import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { aClinic, aSlot, book, proposed, slotsOf } from '../fixtures.ts';
import { issuesOf, request, resourceIn } from '../http.ts';
import { base } from '../installation.ts';

const REPLACES = 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Appointment.replaces';

const replacing = (appointment: unknown, parameter: object) => ({
  resourceType: 'Parameters',
  parameter: [
    { name: 'appt-resource', resource: appointment },
    { name: 'cancelled-appt-id', ...parameter },
  ],
});

async function aBooking() {
  const clinic = await aClinic();
  const later = await aSlot(clinic.schedule, 60, 90);
  const booked = resourceIn('Appointment', await book(proposed(clinic.patient, [clinic.slot])));
  return { ...clinic, later, booked, id: booked.id ?? '' };
}

describe('reschedule by replacement', () => {
  it.each<[string, (id: string) => object]>([
    ['a bare id', (id) => ({ valueUri: id })],
    ['a relative uri', (id) => ({ valueUri: `Appointment/${id}` })],
    ['an absolute uri', (id) => ({ valueUri: `${base}/Appointment/${id}` })],
    ['a Reference', (id) => ({ valueReference: { reference: `Appointment/${id}` } })],
  ])('the old one is cancelled, its slot freed, the new one points to it (%s)', async (_, parameter) => {
    const { schedule, patient, later, id } = await aBooking();
    const answer = await book(replacing(proposed(patient, [later], { from: 60, to: 90 }), parameter(id)));
    const replacement = resourceIn('Appointment', answer);
    expect(answer.status).toBe(201);
    expect(replacement.id).not.toBe(id);
    expect(replacement.extension).toEqual([{ url: REPLACES, valueReference: { reference: `Appointment/${id}` } }]);
    expect(resourceIn('Appointment', await request('portal-a', 'GET', `/Appointment/${id}`)).status).toBe('cancelled');
    expect(await slotsOf(schedule)).toEqual(['free 0-30', 'busy 60-90']);
  });

  it('may take the very time of the old one', async () => {
    const { schedule, slot, patient, id } = await aBooking();
    const answer = await book(replacing(proposed(patient, [slot], { to: 20 }), { valueUri: id }));
    expect(answer.status).toBe(201);
    expect(await slotsOf(schedule)).toEqual(['busy 0-20', 'free 20-30', 'free 60-90']);
  });

  it('both or neither: if the new one cannot be booked, the old one stays', async () => {
    const { schedule, patient, booked, id } = await aBooking();
    const taken = await aSlot(schedule, 120, 150, { status: 'busy' });
    const answer = await book(replacing(proposed(patient, [taken], { from: 120, to: 150 }), { valueUri: id }));
    expect(answer.status).toBe(409);
    expect((await request('portal-a', 'GET', `/Appointment/${id}`)).body).toEqual(booked);
    expect(await slotsOf(schedule)).toContain('busy 0-30');
  });

  it("an unknown or a stranger's appointment: 422, nothing booked", async () => {
    const foreign = await aBooking();
    const { schedule, patient, later } = await aBooking();
    const byStranger = await aClinic();
    for (const [role, id, body] of [
      ['portal-a', randomUUID(), proposed(patient, [later], { from: 60, to: 90 })],
      ['portal-b', foreign.id, proposed(byStranger.patient, [byStranger.slot])],
    ] as const) {
      const answer = await book(replacing(body, { valueUri: id }), role);
      expect(answer.status).toBe(422);
      expect(issuesOf(answer)).toContain('replaced-appointment-not-found Parameters.parameter[1].valueUri');
    }
    expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'free 60-90']);
    expect((await request('portal-a', 'GET', `/Appointment/${foreign.id}`)).body).toEqual(foreign.booked);
  });

  it('one of another server, or itself: 400', async () => {
    const { patient, later, id } = await aBooking();
    const body = proposed(patient, [later], { from: 60, to: 90 });
    for (const [appointment, valueUri] of [
      [body, `https://other.example/Appointment/${id}`],
      [{ ...body, id }, id],
    ] as const) {
      const answer = await book(replacing(appointment, { valueUri }));
      expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'malformed-request Parameters.parameter[1].valueUri']);
    }
  });

  it('one that was replaced cannot be replaced again: 409', async () => {
    const { schedule, patient, later, id } = await aBooking();
    await book(replacing(proposed(patient, [later], { from: 60, to: 90 }), { valueUri: id }));
    const third = await aSlot(schedule, 120, 150);
    const answer = await book(replacing(proposed(patient, [third], { from: 120, to: 150 }), { valueUri: id }));
    expect([answer.status, ...issuesOf(answer)]).toEqual([409, 'appointment-closed Parameters.parameter[1].valueUri']);
  });
});
