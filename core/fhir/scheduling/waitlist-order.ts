import type { Appointment } from '@medplum/fhirtypes';
import { parseInstant } from '../instant.ts';

/** The rank of an entry without an iCalendar priority (1 to 9). */
const NO_PRIORITY = 10;

/** The priority that the clinic gives an entry of the waitlist. */
export const rank = ({ priority }: Appointment): number => priority || NO_PRIORITY;

/** The start of the wait, in milliseconds since 1970 UTC. */
export const since = ({ created, meta }: Appointment): number => parseInstant(created ?? meta?.lastUpdated) ?? 0;

/** The order of the waitlist: by the clinic's priority, then by the start of the wait. */
export function compareEntries(appointment: Appointment, other: Appointment): number {
  return (
    rank(appointment) - rank(other) ||
    since(appointment) - since(other) ||
    ((appointment.id ?? '') < (other.id ?? '') ? -1 : 1)
  );
}

/** Whether a requested time of an entry has not passed yet. */
export const isStillWaiting = ({ status, requestedPeriod }: Appointment, now: number): boolean =>
  status === 'waitlist' &&
  (Array.isArray(requestedPeriod) ? requestedPeriod : []).some((wish) => (parseInstant(wish?.end) ?? 0) > now);
