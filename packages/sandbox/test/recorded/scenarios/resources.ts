import type { Appointment, Patient, Schedule, Slot } from '@medplum/fhirtypes';
import type { Answer } from '../stage.ts';

/** Tag that marks whose something is. */
export const tag = (code: string) => ({ tag: [{ system: 'urn:owner', code }] });

/** A patient that is found by its identifier. */
export const patient = (value: string, fields: Partial<Patient> = {}): Patient => ({
  resourceType: 'Patient',
  identifier: [{ system: 'urn:patient', value }],
  name: [{ family: 'Meyer', given: ['Anna'] }],
  ...fields,
});

/** A schedule of one actor. */
export const schedule = (value: string, actor: string, fields: Partial<Schedule> = {}): Schedule => ({
  resourceType: 'Schedule',
  identifier: [{ system: 'urn:schedule', value }],
  active: true,
  actor: [{ reference: actor }],
  ...fields,
});

/** Half an hour of a schedule, on the fourth of March 2031. */
export const slot = (scheduleId: string, start: string, fields: Partial<Slot> = {}): Slot => ({
  resourceType: 'Slot',
  schedule: { reference: `Schedule/${scheduleId}` },
  status: 'free',
  start: `2031-03-04T${start}:00Z`,
  end: `2031-03-04T${start.slice(0, 2)}:${start.endsWith('00') ? '30' : '59'}:00Z`,
  ...fields,
});

/** An appointment of a patient in a slot. */
export const appointment = (patientId: string, slotId: string, fields: Partial<Appointment> = {}): Appointment => ({
  resourceType: 'Appointment',
  status: 'booked',
  start: '2031-03-04T09:00:00Z',
  end: '2031-03-04T09:30:00Z',
  slot: [{ reference: `Slot/${slotId}` }],
  participant: [{ actor: { reference: `Patient/${patientId}` }, status: 'accepted' }],
  ...fields,
});

/**
 * The first reference to a resource of a type in an answer: where a transaction has created one.
 *
 * @throws Error if there is none
 */
export function referenceIn({ body }: Answer, type: string): string {
  const text = JSON.stringify(body);
  const [reference] = text.match(new RegExp(`\\b${type}/[0-9a-f-]{36}`)) ?? [];
  if (!reference) {
    throw new Error(`No ${type} in ${text}`);
  }
  return reference;
}
