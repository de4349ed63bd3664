import type { BookingConfig } from '../../core/config/config.ts';

const MINUTE = 60_000;

/** Counts the changes that each requestor makes within a minute, from their beginning. */
export interface ChangeLimit {
  /**
   * Counts a change.
   *
   * @param weight - as how many it counts
   * @returns a function that takes it back, but for a part of its weight; or the seconds until the requestor may change
   *   something again
   */
  readonly take: (requestor: string, weight: number) => ((kept?: number) => void) | number;
}

/** How many changes of Subscriptions a subscriber can make within a minute: each may send something to an endpoint. */
export const mostSubscriptionChanges = ({ notifications }: BookingConfig): number =>
  notifications.maxSubscriptions + 40;

/**
 * How much a requestor can have Bots do within a minute that changes nothing: they read with rights, and from a quota of
 * Medplum's, that all requestors share. Those who were not fast enough may try again, and one visitor of a portal stops no others.
 */
export const mostInVain = ({ requestors }: BookingConfig): number => 5 * requestors.maxBookingsPerMinute;

/** As how much of that a request counts: for what is refused more is read. */
export const inVainWeights = { asked: 1, refused: 2 } as const;

/** A change, and when it began, in milliseconds. */
interface Change {
  readonly at: number;
  weight: number;
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
    take: (requestor, weight) => {
      // Where the clock was set back, it is not known how long ago a change was.
      const recent = forget(requestor, ({ at }) => at <= now() - MINUTE || at > now());
      let sum = [...recent].reduce((all, one) => all + one.weight, 0);
      // Those that must have ended first; what is heavier than the limit waits for all of them.
      const before = [...recent].filter((one) => {
        const isTooMuch = sum > 0 && sum + weight > most;
        sum -= isTooMuch ? one.weight : 0;
        return isTooMuch;
      });
      const last = before.at(-1);
      if (last) {
        return Math.max(1, Math.ceil((last.at + MINUTE - now()) / 1_000));
      }
      const change = { at: now(), weight };
      made.set(requestor, recent.add(change));
      return (kept = 0) => {
        change.weight = kept;
        forget(requestor, (one) => one.weight === 0);
      };
    },
  };
}
