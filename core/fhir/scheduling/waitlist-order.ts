import type { Appointment } from '@medplum/fhirtypes';
import { parseInstant } from '../instant.ts';

/** An iCalendar priority goes from 1 to 9; 0 and none say nothing. */
const NO_PRIORITY = 10;

/** The priority that the clinic gives an entry of the waitlist. */
export const rank = ({ priority }: Appointment): number => priority || NO_PRIORITY;

/** Since when somebody waits, in milliseconds since 1970 UTC. */
export const since = ({ created, meta }: Appointment): number => parseInstant(created ?? meta?.lastUpdated) ?? 0;

/** The order of those who wait: by the priority that the clinic gives, then by since when. */
export function compareEntries(appointment: Appointment, other: Appointment): number {
  return (
    rank(appointment) - rank(other) ||
    since(appointment) - since(other) ||
    ((appointment.id ?? '') < (other.id ?? '') ? -1 : 1)
  );
}

/** Whether there is still something to wait for: a time that is wished for, and not over. */
export const isStillWaiting = ({ status, requestedPeriod }: Appointment, now: number): boolean =>
  status === 'waitlist' &&
  (Array.isArray(requestedPeriod) ? requestedPeriod : []).some((wish) => (parseInstant(wish?.end) ?? 0) > now);
