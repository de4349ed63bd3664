import type { AddressGroup } from '../../../packages/web/address-group.ts';

/** Whom the limits count: all groups of an address. */
export type Visitor = readonly AddressGroup[];

/** Counts what each visitor has taken, over all pages and sessions: whoever drops the cookie takes no more for that. */
export interface VisitorQuotas {
  /**
   * Takes time for a visitor. The same key again replaces what was taken with it.
   *
   * @param length - in milliseconds
   * @param until - when a hold ends by itself, in milliseconds since 1970 UTC; absent: time is booked
   * @returns a function that takes it back, if the clinic has refused; `undefined` if the visitor has taken enough
   */
  readonly take: (visitor: Visitor, key: string, length: number, until?: number) => (() => void) | undefined;
  /** A hold has ended. */
  readonly end: (visitor: Visitor, key: string) => void;
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

/** How many groups of addresses are remembered; those that have taken nothing for the longest time go first. */
const MOST = 20_000;

const isIn = (since: number) => (taken: Taken) => taken.isHold || taken.at > since;

/** Whether so many more hours may be taken: what is longer than all of it can be taken once. */
function hasRoom(taken: readonly Taken[], { isHold, length }: Taken, hours: number): boolean {
  const sameKind = taken.filter((one) => one.isHold === isHold).length;
  const time = taken.reduce((sum, one) => sum + one.length, 0);
  return sameKind < hours && (time === 0 || time + length <= hours * HOUR);
}

/**
 * Counts in memory. A visitor has at most `perHour` holds at a time, books and moves as often in an hour, and takes as many
 * hours in it, holds and bookings together; in a day three times that.
 *
 * @param perHour - bookings and moves of one visitor in an hour
 */
export function createVisitorQuotas(perHour: number, now: () => number): VisitorQuotas {
  const groups = new Map<string, Map<string, Taken>>();
  /** What a group has taken by other keys, as far as it still counts. */
  const others = (name: string, key: string): Taken[] =>
    [...(groups.get(name) ?? [])].flatMap(([known, one]) => (known !== key && one.until > now() ? [one] : []));
  const put = (name: string, key: string, taken: Taken | undefined): void => {
    const kept = [...(groups.get(name) ?? [])].filter(([known, one]) => known !== key && one.until > now());
    groups.delete(name);
    if (taken || kept.length > 0) {
      groups.set(name, new Map(taken ? [...kept, [key, taken]] : kept));
    }
    const [oldest] = groups.keys();
    if (groups.size > MOST && oldest !== undefined) {
      groups.delete(oldest);
    }
  };
  const putAll = (visitor: Visitor, key: string, taken: (index: number) => Taken | undefined): void => {
    for (const [index, { name }] of visitor.entries()) {
      put(name, key, taken(index));
    }
  };
  return {
    take(visitor, key, length, until) {
      const at = now();
      const wanted: Taken = { isHold: until !== undefined, length, at, until: until ?? at + DAY };
      const isAllowed = visitor.every(({ name, times }) => {
        const taken = others(name, key);
        const [hourly, daily] = [times * perHour, times * perHour * HOURS_PER_DAY];
        return hasRoom(taken.filter(isIn(at - HOUR)), wanted, hourly) && hasRoom(taken, wanted, daily);
      });
      if (!isAllowed) {
        return undefined;
      }
      const before = visitor.map(({ name }) => groups.get(name)?.get(key));
      putAll(visitor, key, () => wanted);
      return () => putAll(visitor, key, (index) => before[index]);
    },
    end: (visitor, key) => putAll(visitor, key, () => undefined),
  };
}
