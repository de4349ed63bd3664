import type { Appointment } from '@medplum/fhirtypes';
import { mayBecome } from '../../../core/booking/appointment/status.ts';

/** What staff do with an appointment by changing its status. */
export const steps = ['booked', 'arrived', 'checked-in', 'fulfilled', 'noshow'] as const;

/** A status that staff set by one click. */
export type StatusStep = (typeof steps)[number];

/** The statuses that staff may set now, apart from cancelling. */
export function stepsOf(appointment: Appointment): StatusStep[] {
  return steps.filter((status) => mayBecome(appointment, status, 'repository'));
}

/** Whether staff may cancel it now, or decline it. */
export function canCancel(appointment: Appointment): boolean {
  return mayBecome(appointment, 'cancelled', 'repository');
}

/** An appointment with another status. */
export function withStatus(appointment: Appointment, status: StatusStep): Appointment {
  return { ...appointment, status };
}

/** FHIR's code for a cancellation by the clinic, which profiles may demand in addition to a text. */
const byProvider = { system: 'http://terminology.hl7.org/CodeSystem/appointment-cancellation-reason', code: 'prov' };

/** A declined or cancelled appointment, with the reason that the patient reads. */
export function cancelled(appointment: Appointment, reason: string): Appointment {
  const text = reason.trim();
  return { ...appointment, status: 'cancelled', ...(text && { cancelationReason: { coding: [byProvider], text } }) };
}
