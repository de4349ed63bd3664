import { asksForDryRun } from '../../core/booking/book/request/request.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import type { Handler } from '../handler.ts';
import { refusal } from '../http/errors.ts';
import { nameOf } from '../medplum/current-profile.ts';

const MINUTE = 60_000;

/** Counts the changes of appointments that each requestor has made within a minute. */
export interface ChangeLimit {
  /** The seconds until a requestor may change an appointment; 0 if it may now. */
  readonly secondsLeft: (requestor: string) => number;
  readonly note: (requestor: string) => void;
}

/**
 * @param most - the most changes within a minute
 * @param now - the clock, in milliseconds
 */
export function createChangeLimit(most: number, now: () => number): ChangeLimit {
  const made = new Map<string, number[]>();
  const recent = (requestor: string): number[] => {
    const times = (made.get(requestor) ?? []).filter((time) => time > now() - MINUTE);
    if (times.length > 0) {
      made.set(requestor, times);
    } else {
      made.delete(requestor);
    }
    return times;
  };
  return {
    secondsLeft: (requestor) => {
      const times = recent(requestor);
      const oldest = times.at(-most);
      return oldest === undefined ? 0 : Math.max(1, Math.ceil((oldest + MINUTE - now()) / 1_000));
    },
    note: (requestor) => {
      made.set(requestor, [...recent(requestor), now()]);
    },
  };
}

const diagnosticsOf = ({ requestors }: BookingConfig): string =>
  `You can book, hold or change appointments at most ${requestors.maxBookingsPerMinute} times a minute: wait and try again.`;

/**
 * Lets a requestor make only so many changes of appointments in a minute. Each change counts, also several of one
 * appointment, which the Bots count once: its subscribers are told of each.
 */
export function limitingChanges(handler: Handler): Handler {
  return async (exchange, context) => {
    const { caller, body } = exchange;
    if (caller?.role !== 'requestor') {
      return handler(exchange, context);
    }
    const seconds = context.changes.secondsLeft(nameOf(caller));
    if (seconds > 0) {
      const { headers, ...refused } = refusal(
        [{ code: 'too-many-bookings', diagnostics: diagnosticsOf(context.config), expression: 'Appointment' }],
        context.config,
      );
      return { ...refused, headers: { ...headers, 'retry-after': String(seconds) } };
    }
    const answer = await handler(exchange, context);
    if (answer.status < 300 && !asksForDryRun(body)) {
      context.changes.note(nameOf(caller));
    }
    return answer;
  };
}
