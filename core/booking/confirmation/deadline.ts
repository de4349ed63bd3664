import type { Appointment, Extension } from '@medplum/fhirtypes';
import { artefactUri } from '../../config/config.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import type { Interval } from '../../time/interval.ts';
import { type ReasonConfig, reasonOf } from '../appointment/cancelation-reason.ts';
import type { EffectivePolicy } from '../policy/effective-policy.ts';

/** The part of the configuration that deadlines depend on. */
export type DeadlineConfig = ReasonConfig;

const CODE = 'confirmation-expired';

/**
 * Until when the clinic has to confirm a request, in milliseconds since 1970 UTC; `undefined` if there is no deadline. The
 * deadline is part of the appointment, so that every reader knows whether the request has ended.
 */
export function deadlineOf({ extension }: Appointment, config: DeadlineConfig): number | undefined {
  const url = artefactUri(config, 'LocalConfirmationDeadline');
  const found = (Array.isArray(extension) ? extension : []).find((one) => one?.url === url);
  return found && (parseInstant(found.valueInstant) ?? 0);
}

/** Whether an appointment is a request that the clinic has to confirm by a deadline, passed or not. */
export function isWaiting(appointment: Appointment, config: DeadlineConfig): boolean {
  return appointment.status === 'pending' && deadlineOf(appointment, config) !== undefined;
}

/** Whether the deadline of a request has passed at a given time, and the request has not been tidied up yet. */
export function isOverdue(appointment: Appointment, now: number, config: DeadlineConfig): boolean {
  const deadline = deadlineOf(appointment, config);
  return appointment.status === 'pending' && deadline !== undefined && deadline <= now;
}

/**
 * The deadline of a new request: the shortest that the policies of its Schedules give the clinic, but no later than the
 * start of the appointment. A request that is sent again for the same time keeps its deadline.
 *
 * @param previous - the appointment that is sent again
 * @returns nothing if no policy gives one
 */
export function deadlineExtensions(
  policies: readonly EffectivePolicy[],
  { start, end }: Interval,
  previous: Appointment | undefined,
  now: number,
  config: DeadlineConfig,
): Extension[] {
  const lengths = policies.flatMap(({ policy }) => policy.confirmWithin ?? []);
  if (lengths.length === 0) {
    return [];
  }
  const isSameTime = parseInstant(previous?.start) === start && parseInstant(previous?.end) === end;
  const given = previous && isSameTime && isWaiting(previous, config) ? deadlineOf(previous, config) : undefined;
  const kept = given !== undefined && given > now ? given : undefined;
  const deadline = kept ?? Math.min(now + Math.min(...lengths), start);
  return [{ url: artefactUri(config, 'LocalConfirmationDeadline'), valueInstant: formatInstant(deadline) }];
}

/** A request whose deadline has passed, as it is stored when its time is given back. */
export function unconfirmed(request: Appointment, config: DeadlineConfig): Appointment {
  const cancelationReason = reasonOf(CODE, 'The clinic did not confirm the appointment in time.', config);
  return { ...request, status: 'cancelled', cancelationReason };
}

/** Whether a request ended because its deadline passed, tidied up or not. */
export function wasUnconfirmed(appointment: Appointment, now: number, config: DeadlineConfig): boolean {
  const system = artefactUri(config, 'LocalBookingError');
  const isMarked = appointment.cancelationReason?.coding?.some((one) => one.system === system && one.code === CODE);
  const isTidiedUp = appointment.status === 'cancelled' && isMarked === true;
  return isOverdue(appointment, now, config) || (isTidiedUp && deadlineOf(appointment, config) !== undefined);
}
