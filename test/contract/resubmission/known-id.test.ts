import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { aClinic, aPatient, aSlot, book, minutes, proposed, slotsOf, stored } from '../fixtures.ts';
import { issuesOf, medplum, request, resourceIn } from '../http.ts';

async function aBooking(end = 30, { from = 0, to = 30 } = {}) {
  const clinic = await aClinic({}, { end: minutes(end) });
  const booked = resourceIn('Appointment', await book(proposed(clinic.patient, [clinic.slot], { from, to })));
  return { ...clinic, booked, id: booked.id ?? '' };
}

describe('re-submission of a known id', () => {
  it('moves the appointment: 201, same id, new version, its old slot free', async () => {
    const { schedule, slot, patient, booked, id } = await aBooking();
    const later = await aSlot(schedule, 60, 90);
    const answer = await book(proposed(patient, [later], { id, from: 60, to: 90 }));
    const moved = resourceIn('Appointment', answer);
    expect(answer.status).toBe(201);
    expect(moved).toMatchObject({
      id,
      status: 'booked',
      start: minutes(60),
      slot: [{ reference: `Slot/${later.id}` }],
    });
    expect(moved.meta?.versionId).not.toBe(booked.meta?.versionId);
    expect(await slotsOf(schedule)).toEqual(['free 0-30', 'busy 60-90']);
    expect((await book(proposed(patient, [slot]))).status).toBe(201);
  });

  it('shortens it over its own slot', async () => {
    const { schedule, slot, patient, id } = await aBooking();
    expect((await book(proposed(patient, [slot], { id, to: 10 }))).status).toBe(201);
    expect(await slotsOf(schedule)).toEqual(['busy 0-10', 'free 10-30']);
  });

  it('lengthens it over a free slot next to its own, by the names that a search gives', async () => {
    const { schedule, slot, patient, id } = await aBooking(60, { from: 20, to: 40 });
    const found = await stored('Slot', `schedule=Schedule/${schedule.id}&status=free&_sort=start`);
    const [, after] = found;
    expect(await slotsOf(schedule)).toEqual(['free 0-20', 'busy 20-40', 'free 40-60']);
    const answer = await book(proposed(patient, after ? [slot, after] : [], { id, from: 20, to: 60 }));
    expect(answer.status).toBe(201);
    expect(await slotsOf(schedule)).toEqual(['free 0-20', 'busy 20-60']);
  });

  it('a time of its slot that others have taken: 409', async () => {
    const { schedule, slot, patient, id } = await aBooking(60, { from: 20, to: 40 });
    expect((await book(proposed(patient, [slot], { from: 40, to: 50 }))).status).toBe(201);
    const answer = await book(proposed(patient, [slot], { id, from: 30, to: 50 }));
    expect([answer.status, ...issuesOf(answer)]).toEqual([409, 'slot-not-free Appointment.slot[0]']);
    expect(await slotsOf(schedule)).toEqual(['free 0-20', 'busy 20-40', 'busy 40-50', 'free 50-60']);
  });

  it('lengthens it over the rest of its own slot', async () => {
    const { schedule, slot, patient, id } = await aBooking(240, { from: 60, to: 90 });
    expect(await slotsOf(schedule)).toEqual(['free 0-60', 'busy 60-90', 'free 90-240']);
    expect((await book(proposed(patient, [slot], { id, from: 30, to: 120 }))).status).toBe(201);
    expect(await slotsOf(schedule)).toEqual(['free 0-30', 'busy 30-120', 'free 120-240']);
  });

  it('a slot narrowed by the booking and freed again is whole free time once more', async () => {
    const { schedule, patient, id } = await aBooking(240, { from: 60, to: 90 });
    const other = await aSlot(schedule, 300, 330);
    expect((await book(proposed(patient, [other], { id, from: 300, to: 330 }))).status).toBe(201);
    expect(await slotsOf(schedule)).toEqual(['free 0-240', 'busy 300-330']);
  });

  it('not available in the changed form: 409, and not one byte changed', async () => {
    const { schedule, patient, id, booked } = await aBooking();
    const taken = await aSlot(schedule, 60, 90, { status: 'busy' });
    const answer = await book(proposed(patient, [taken], { id, from: 60, to: 90 }));
    expect([answer.status, ...issuesOf(answer)]).toEqual([409, 'slot-not-free Appointment.slot[0]']);
    expect((await request('portal-a', 'GET', `/Appointment/${id}`)).body).toEqual(booked);
    expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'busy 60-90']);
  });

  it('may change the patient', async () => {
    const { slot, id } = await aBooking();
    const other = await aPatient();
    const answer = await book(proposed(other, [slot], { id }));
    expect(answer.status).toBe(201);
    expect(resourceIn('Appointment', answer).participant[0]?.actor?.reference).toBe(`Patient/${other.id}`);
  });

  it.each(['cancelled', 'fulfilled', 'noshow'])('of one that is %s: 409', async (status) => {
    const { schedule, patient, booked, id } = await aBooking();
    const later = await aSlot(schedule, 60, 90);
    const closed = await medplum('admin', 'PUT', `/Appointment/${id}`, { body: { ...booked, status } });
    expect(closed.status).toBe(200);
    const answer = await book(proposed(patient, [later], { id, from: 60, to: 90 }));
    expect([answer.status, ...issuesOf(answer)]).toEqual([409, 'appointment-closed Appointment.id']);
    expect(await slotsOf(schedule)).toContain('free 60-90');
  });

  it("a stranger's id: a new appointment under a new id, just like an unknown one", async () => {
    const { id, booked } = await aBooking();
    const mine = await aPatient('portal-b');
    for (const given of [id, randomUUID()]) {
      const { slot } = await aClinic();
      const answer = await book(proposed(mine, [slot], { id: given }), 'portal-b');
      expect(answer.status).toBe(201);
      expect(resourceIn('Appointment', answer).id).not.toBe(given);
    }
    expect((await request('portal-a', 'GET', `/Appointment/${id}`)).body).toEqual(booked);
  });
});
