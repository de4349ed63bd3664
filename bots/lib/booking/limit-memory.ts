import {
  type RequestorLimit,
  type RequestorLimitConfig,
  slackOf,
} from '../../../core/booking/policy/requestor-limits.ts';

/** Remembers for a moment that requestors are below their limits. */
export interface LimitMemory {
  /** The limits that must be checked before this decision; each call counts as a decision. */
  readonly toAsk: (limits: readonly RequestorLimit[], requestor: string, now: number) => RequestorLimit[];
  /** Notes limits that were checked and not reached. */
  readonly below: (limits: readonly RequestorLimit[], requestor: string, now: number) => void;
}

/** How long it is remembered, in milliseconds. */
const LASTS = 1_000;

const MOST = 1_000;

/**
 * A requestor that was below a limit stays below it for some bookings: for that many, and for a second, the limit is not
 * checked again. The cost of a check grows with the requestor's appointments; this way it does not grow with the number
 * of its bookings, too. Where each run of a Bot has a context of its own, nothing is remembered and every booking checks.
 */
export function createLimitMemory(config: RequestorLimitConfig): LimitMemory {
  const known = new Map<string, { left: number; readonly until: number }>();
  const isKnown = (limit: RequestorLimit, requestor: string, now: number): boolean => {
    const one = known.get(`${limit} ${requestor}`);
    if (!one || one.left <= 0 || one.until <= now) {
      return false;
    }
    one.left -= 1;
    return true;
  };
  return {
    toAsk: (limits, requestor, now) => limits.filter((limit) => !isKnown(limit, requestor, now)),
    below: (limits, requestor, now) => {
      for (const limit of limits) {
        known.delete(`${limit} ${requestor}`);
        known.set(`${limit} ${requestor}`, { left: slackOf(limit, config), until: now + LASTS });
      }
      for (const key of [...known.keys()].slice(0, Math.max(0, known.size - MOST))) {
        known.delete(key);
      }
    },
  };
}
