import type { Appointment } from '@medplum/fhirtypes';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { localDayOf } from '../../../core/time/local-day.ts';

const steps = ['arrived', 'checked-in', 'fulfilled', 'noshow', 'booked'] as const;

/** A status that staff set by one click. */
export type StatusStep = (typeof steps)[number];

/** The next statuses, by current status. The service decides whether a change is allowed. */
const next: Readonly<Partial<Record<Appointment['status'], readonly StatusStep[]>>> = {
  pending: ['booked'],
  booked: ['arrived', 'noshow'],
  arrived: ['checked-in', 'fulfilled', 'noshow', 'booked'],
  'checked-in': ['fulfilled', 'noshow'],
};

/** Whether a status is possible now: nobody arrives a day early, or misses an appointment that has not begun. */
const canBeTrue: Readonly<Record<StatusStep, (start: number, now: number, timeZone: string) => boolean>> = {
  booked: () => true,
  arrived: (start, now, timeZone) => localDayOf(start, timeZone) <= localDayOf(now, timeZone),
  'checked-in': (start, now, timeZone) => localDayOf(start, timeZone) <= localDayOf(now, timeZone),
  fulfilled: (start, now, timeZone) => localDayOf(start, timeZone) <= localDayOf(now, timeZone),
  noshow: (start, now) => start <= now,
};

/** The statuses that staff may set now, apart from cancelling; `now` in milliseconds since 1970 UTC. */
export function stepsOf(appointment: Appointment, now: number, timeZone: string): StatusStep[] {
  const start = parseInstant(appointment.start) ?? now;
  return steps.filter(
    (status) => next[appointment.status]?.includes(status) && canBeTrue[status](start, now, timeZone),
  );
}

/** Whether staff may cancel or decline the appointment. */
export const canCancel = ({ status }: Appointment): boolean =>
  ['proposed', 'pending', 'booked', 'waitlist'].includes(status);

/** Whether the appointment can be moved. */
export const isMovable = ({ status }: Appointment): boolean => status === 'booked' || status === 'pending';

/** An appointment with another status. */
export function withStatus(appointment: Appointment, status: StatusStep): Appointment {
  return { ...appointment, status };
}

/** FHIR's code for a cancellation by the clinic. Profiles may demand a code in addition to the text. */
const byProvider = { system: 'http://terminology.hl7.org/CodeSystem/appointment-cancellation-reason', code: 'prov' };

/** A declined or cancelled appointment, with a reason for the patient. */
export function cancelled(appointment: Appointment, reason: string): Appointment {
  const text = reason.trim();
  return { ...appointment, status: 'cancelled', cancelationReason: { coding: [byProvider], ...(text && { text }) } };
}
