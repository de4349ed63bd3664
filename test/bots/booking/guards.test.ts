import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Extension, Patient, Resource, Slot } from '@medplum/fhirtypes';
import { handler as bookBot } from '../../../bots/booking/book.ts';
import { handler as validateAppointmentBot } from '../../../bots/booking/validate-appointment.ts';
import { handler as validatePatientBot } from '../../../bots/booking/validate-patient.ts';
import { withMedplum } from '../medplum.ts';
import {
  aPatient,
  aPortal,
  aSchedule,
  aService,
  aSlot,
  aType,
  at,
  bookable,
  booked,
  eventOf,
  type Portal,
  policy,
  problems,
  proposed,
  typeOf,
} from './fixtures.ts';

const medplum = withMedplum();

describe('validate appointment', () => {
  const judge = (appointment: Appointment, headers: Record<string, string> = {}) =>
    validateAppointmentBot(medplum().medplum, eventOf(appointment, undefined, headers));

  const deletion = { 'X-Medplum-Deleted-Resource': 'Appointment/1' };
  const setting = async (more: Parameters<typeof booked>[2] = {}) => booked(medplum(), await aPortal(medplum()), more);

  describe('a new appointment of staff', () => {
    async function created(slot: Partial<Slot> = {}, more: Partial<Appointment> = {}) {
      const schedule = await aSchedule(medplum());
      const patient = await aPatient(medplum(), { id: 'portal' });
      const made = await aSlot(medplum(), schedule, '09:00', '09:30', slot);
      return { schedule, patient, slot: made, appointment: proposed(patient, [made], { status: 'booked', ...more }) };
    }

    it('is judged without headers, too', async () => {
      const { appointment } = await created();
      const event = { ...eventOf(appointment), headers: undefined };
      expect(await validateAppointmentBot(medplum().medplum, event)).toBe(true);
    });

    it('that breaks another rule is not looked at any further', async () => {
      const { appointment } = await created();
      const nobody = {
        actor: { reference: 'Patient/00000000-0000-4000-8000-000000000000' },
        status: 'accepted' as const,
      };
      expect(problems(await judge({ ...appointment, participant: [nobody] }))).toEqual([
        'patient-not-found Appointment.participant[0].actor',
      ]);
    });
  });

  describe('on a Slot that is still taken by what was cancelled', () => {
    const minutes = (url: string, value: number): Extension => ({ url, valueDuration: { value, unit: 'min' } });
    const scheduling = {
      url: 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters',
      extension: [minutes('duration', 30), minutes('bufferBefore', 5)],
    };

    async function cancelled() {
      const service = await aService(medplum(), { active: true, type: [aType()], extension: [scheduling] });
      const { portal, patient, schedule, slot } = await bookable(medplum(), { serviceType: [typeOf(service)] });
      const answer = await bookBot(medplum().medplum, eventOf<Resource>(proposed(patient, [slot]), portal));
      await medplum().change<Appointment>(answer as Appointment & { id: string }, { status: 'cancelled' });
      return { schedule, appointment: proposed(patient, [slot], { status: 'booked' }) };
    }

    it('staff book again', async () => {
      const { appointment } = await cancelled();
      expect(await judge(appointment)).toBe(true);
    });

    it('staff do not, if the time before it is blocked meanwhile', async () => {
      const { schedule, appointment } = await cancelled();
      await aSlot(medplum(), schedule, '08:30', '09:00', { status: 'busy-unavailable' });
      expect(problems(await judge(appointment))).toEqual(['schedule-overbooked Appointment.slot[0]']);
    });
  });

  describe('a deletion', () => {
    it('of one that is over is remembered', async () => {
      const { appointment } = await setting({ status: 'cancelled' });
      expect(await judge(appointment, deletion)).toBe(true);
    });
  });
});

describe('validate patient', () => {
  /** What the guard says to a portal that makes a patient inactive. */
  const judge = ({ id }: Portal, patient: Patient) => {
    const author = { reference: `ClientApplication/${id}` };
    return validatePatientBot(
      medplum().medplum,
      eventOf<Patient>({ ...patient, active: false, meta: { ...patient.meta, author } }),
    );
  };

  /** A policy by which nothing on the day of the tests can be cancelled any more. */
  const closed = { extension: [policy({ cancelUntil: 8_000 })] };

  describe('a portal makes a patient inactive', () => {
    it('whatever the policies of other appointments and schedules say', async () => {
      const portal = await aPortal(medplum());
      const schedule = await aSchedule(medplum(), closed);
      const { patient } = await booked(medplum(), portal, { schedule, status: 'fulfilled' });
      const open = await aSchedule(medplum());
      await booked(medplum(), portal, { patient, schedule: open, from: '10:00', to: '10:30' });
      expect(await judge(portal, patient)).toBe(true);
    });

    it('by the policy of the schedule that each appointment is in', async () => {
      const portal = await aPortal(medplum());
      const schedule = await aSchedule(medplum(), { extension: [policy({ cancelUntil: hoursUntil('10:30') })] });
      const { patient } = await booked(medplum(), portal, { schedule, from: '11:00', to: '11:30' });
      await booked(medplum(), portal, { patient, schedule, from: '12:00', to: '12:30' });
      expect(await judge(portal, patient)).toBe(true);
      const late = await booked(medplum(), portal, {
        patient,
        schedule: await aSchedule(medplum(), closed),
        from: '13:00',
        to: '13:30',
      });
      expect(problems(await judge(portal, patient))).toEqual(['cancellation-closed Patient.active']);
      await medplum().change<Appointment>(late.appointment, { status: 'cancelled' });
      expect(await judge(portal, patient)).toBe(true);
    });
  });

  /** How many hours it is until a time on the day of the tests. */
  function hoursUntil(time: string): number {
    return Math.floor((Date.parse(at(time)) - Date.now()) / 3_600_000);
  }

  describe('the guard has nothing to say', () => {
    it('to staff', async () => {
      const portal = await aPortal(medplum());
      const { patient } = await booked(medplum(), portal, { schedule: await aSchedule(medplum(), closed) });
      expect(await judge({ id: 'staff', authorization: '' }, patient)).toBe(true);
      expect(
        await validatePatientBot(medplum().medplum, eventOf<Patient>({ ...patient, meta: { tag: patient.meta?.tag } })),
      ).toBe(true);
      const nameless = { ...patient, meta: { ...patient.meta, author: { display: 'Front desk' } } };
      expect(await validatePatientBot(medplum().medplum, eventOf<Patient>(nameless))).toBe(true);
      expect(await validatePatientBot(medplum().medplum, eventOf<Patient>({ resourceType: 'Patient' }))).toBe(true);
    });

    it('about a patient who is inactive already, or new', async () => {
      const portal = await aPortal(medplum());
      const { patient } = await booked(medplum(), portal, { schedule: await aSchedule(medplum(), closed) });
      expect(await judge(portal, { ...patient, id: '00000000-0000-4000-8000-000000000000' })).toBe(true);
      await medplum().change<Patient>(patient, { active: false });
      expect(await judge(portal, patient)).toBe(true);
    });
  });
});
