import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Patient } from '@medplum/fhirtypes';
import { until } from '../../lib/until.ts';
import { aSchedule, aSlot, book, parameters, proposed, simultaneously, stored, succeeded } from '../fixtures.ts';
import { request, resourceIn } from '../http.ts';

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
    const answers = [...(await simultaneously(3, bookFor)), await bookFor(3)];
    const booked = answers.map((answer) => succeeded('Appointment', answer));
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
    const answer = await book(parameters(appointment, ['patient', { ...body, id: 'new' }]));
    expect(answer.status).toBe(422);
    const found = await stored('Patient', `identifier=${system}|${identifier[0]?.value}`);
    expect(found.filter(({ active }) => active !== false)).toHaveLength(2);
  });
});
