import type { Appointment, Extension, Patient, Schedule, Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { aPatient, aSchedule, aSlot, proposed } from '../fixtures.ts';
import { config } from '../installation.ts';

/** A part of a policy that is a length of time. */
export const length = (url: string, value: number, code: string): Extension => ({
  url,
  valueDuration: { value, code, system: 'http://unitsofmeasure.org' },
});

/** A part of a policy that is a number of appointments. */
export const count = (url: string, valuePositiveInt: number): Extension => ({ url, valuePositiveInt });

/** A booking policy, as a Schedule or HealthcareService carries it. */
export const policy = (...extension: Extension[]): { extension: Extension[] } => ({
  extension: [{ url: artefactUri(config, 'LocalBookingPolicy'), extension }],
});

const HOUR = 3_600_000;

/** A slot of half an hour that starts so many hours from now. */
export function aSlotIn(hours: number, schedule: Schedule): Promise<Slot> {
  const start = Math.ceil(Date.now() / 1_000) * 1_000 + hours * HOUR;
  return aSlot(schedule, 0, 0, {
    start: new Date(start).toISOString(),
    end: new Date(start + HOUR / 2).toISOString(),
  });
}

/** An appointment for the whole of a slot. */
export const whole = (slot: Slot, patient: Patient, more: Partial<Appointment> = {}): Appointment => ({
  ...proposed(patient, [slot]),
  start: slot.start,
  end: slot.end,
  ...more,
});

/** A schedule with a policy, a slot that starts so many hours from now, and a patient of portal A. */
export async function aPolicedClinic(hours: number, ...parts: Extension[]) {
  const [schedule, patient] = await Promise.all([aSchedule(policy(...parts)), aPatient()]);
  return { schedule, patient, slot: await aSlotIn(hours, schedule) };
}
