/** Counts what each visitor has taken, over all pages and sessions: whoever drops the cookie takes no more for that. */
export interface Shares {
  /**
   * Takes time for a visitor. The same key again replaces what was taken with it.
   *
   * @param visitor - whom the limits count
   * @param length - in milliseconds
   * @param until - when a hold ends by itself, in milliseconds since 1970 UTC; absent: time is booked
   * @returns a function that takes it back, if the clinic has refused; `undefined` if the visitor has taken enough
   */
  readonly take: (visitor: string, key: string, length: number, until?: number) => (() => void) | undefined;
  /** A hold has ended. */
  readonly end: (visitor: string, key: string) => void;
}

interface Taken {
  readonly isHold: boolean;
  readonly length: number;
  readonly at: number;
  readonly until: number;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** How many times as much as in an hour a visitor may take in a day. */
const HOURS_PER_DAY = 3;

/** How many visitors are remembered; those who have taken nothing for the longest time go first. */
const MOST = 20_000;

/**
 * Counts in memory. A visitor has at most `perHour` holds at a time, books and moves as often in an hour, and takes as many
 * hours in it, holds and bookings together; in a day three times that. What is longer than all of it can be taken once.
 *
 * @param perHour - bookings and moves of one visitor in an hour
 */
export function createShares(perHour: number, now: () => number): Shares {
  const visitors = new Map<string, Map<string, Taken>>();
  const isIn = (since: number) => (one: Taken) => one.isHold || one.at > since;
  const hasRoom = (taken: readonly Taken[], { isHold, length }: Taken, hours: number): boolean => {
    const sameKind = taken.filter((one) => one.isHold === isHold).length;
    const time = taken.reduce((sum, one) => sum + one.length, 0);
    return sameKind < hours && (time === 0 || time + length <= hours * HOUR);
  };
  return {
    take(visitor, key, length, until) {
      const at = now();
      const known = [...(visitors.get(visitor) ?? [])].filter(([, one]) => one.until > at);
      const taken = new Map(known);
      const before = taken.get(key);
      taken.delete(key);
      const wanted: Taken = { isHold: until !== undefined, length, at, until: until ?? at + DAY };
      const all = [...taken.values()];
      const isAllowed =
        hasRoom(all.filter(isIn(at - HOUR)), wanted, perHour) && hasRoom(all, wanted, HOURS_PER_DAY * perHour);
      const kept = isAllowed ? wanted : before;
      if (kept) {
        taken.set(key, kept);
      }
      visitors.delete(visitor);
      if (taken.size > 0) {
        visitors.set(visitor, taken);
      }
      const [oldest] = visitors.keys();
      if (visitors.size > MOST && oldest !== undefined) {
        visitors.delete(oldest);
      }
      const takeBack = (): void => {
        visitors.get(visitor)?.delete(key);
        if (before) {
          visitors.get(visitor)?.set(key, before);
        }
      };
      return isAllowed ? takeBack : undefined;
    },
    end: (visitor, key) => void visitors.get(visitor)?.delete(key),
  };
}
