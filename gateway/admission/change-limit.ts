import { asksForDryRun } from '../../core/booking/book/request/request.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import type { Handler } from '../handler.ts';
import { refusal } from '../http/errors.ts';
import { nameOf } from '../medplum/current-profile.ts';

const MINUTE = 60_000;

/** Counts the changes of appointments that each requestor makes within a minute, from their beginning. */
export interface ChangeLimit {
  /**
   * Counts a change.
   *
   * @returns a function that takes it back; or the seconds until the requestor may change an appointment again
   */
  readonly take: (requestor: string) => (() => void) | number;
}

/** A moment, in milliseconds: two changes of the same moment are two. */
interface Change {
  readonly at: number;
}

/**
 * @param most - the most changes within a minute
 * @param now - the clock, in milliseconds
 */
export function createChangeLimit(most: number, now: () => number): ChangeLimit {
  const made = new Map<string, Set<Change>>();
  const forget = (requestor: string, isOver: (change: Change) => boolean): Set<Change> => {
    const kept = new Set([...(made.get(requestor) ?? [])].filter((change) => !isOver(change)));
    made.delete(requestor);
    if (kept.size > 0) {
      made.set(requestor, kept);
    }
    return kept;
  };
  return {
    take: (requestor) => {
      const recent = forget(requestor, ({ at }) => at <= now() - MINUTE);
      const oldest = [...recent].at(-most);
      if (oldest) {
        return Math.max(1, Math.ceil((oldest.at + MINUTE - now()) / 1_000));
      }
      const change = { at: now() };
      made.set(requestor, recent.add(change));
      return () => void forget(requestor, (one) => one === change);
    },
  };
}

const diagnosticsOf = ({ requestors }: BookingConfig): string =>
  `You can book, hold or change appointments at most ${requestors.maxBookingsPerMinute} times a minute: wait and try again.`;

/**
 * Lets a requestor make only so many changes of appointments in a minute. Each change counts, also several of one
 * appointment, which the Bots count once: its subscribers are told of each. What was refused, or only judged, does not.
 */
export function limitingChanges(handler: Handler): Handler {
  return async (exchange, context) => {
    const { caller, body } = exchange;
    if (caller?.role !== 'requestor') {
      return handler(exchange, context);
    }
    const taken = context.changes.take(nameOf(caller));
    if (typeof taken === 'number') {
      const { headers, ...refused } = refusal(
        [{ code: 'too-many-bookings', diagnostics: diagnosticsOf(context.config), expression: 'Appointment' }],
        context.config,
      );
      return { ...refused, headers: { ...headers, 'retry-after': String(taken) } };
    }
    const answer = await handler(exchange, context);
    if ((answer.status >= 400 && answer.status < 500) || asksForDryRun(body)) {
      taken();
    }
    return answer;
  };
}
