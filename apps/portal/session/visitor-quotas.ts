import type { AddressGroup } from '../../../packages/web/address-group.ts';

/** A visitor for the quotas: all groups that an address belongs to. */
export type Visitor = readonly AddressGroup[];

/** Quotas of time per visitor, across pages and sessions: a deleted cookie does not reset them. */
export interface VisitorQuotas {
  /**
   * Counts time for a visitor. A second call with the same key replaces the first.
   *
   * @param length - in milliseconds
   * @param until - end of a hold, in milliseconds since 1970 UTC; absent: time is booked
   * @returns a function that undoes the call if the clinic refuses; `undefined` if the quota is exhausted
   */
  readonly take: (visitor: Visitor, key: string, length: number, until?: number) => (() => void) | undefined;
  readonly end: (visitor: Visitor, key: string) => void;
}

interface VisitorUse {
  readonly isHold: boolean;
  readonly length: number;
  readonly at: number;
  readonly until: number;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const HOURS_PER_DAY = 3;

/** Maximum of address groups in memory; the least recently changed is removed first. */
const MAX = 20_000;

const isIn = (since: number) => (use: VisitorUse) => use.isHold || use.at > since;

/**
 * Whether the quota of `hours` has room. A single time that is longer than the quota is allowed if it is the only one.
 */
function hasRoom(use: readonly VisitorUse[], { isHold, length }: VisitorUse, hours: number): boolean {
  const sameKind = use.filter((one) => one.isHold === isHold).length;
  const time = use.reduce((sum, one) => sum + one.length, 0);
  return sameKind < hours && (time === 0 || time + length <= hours * HOUR);
}

/**
 * Counts in memory. A visitor has at most `perHour` holds at a time and `perHour` bookings and moves in an hour. All
 * together they take at most `perHour` hours. The quota of a day is three times that.
 */
export function createVisitorQuotas(perHour: number, now: () => number): VisitorQuotas {
  const groups = new Map<string, Map<string, VisitorUse>>();
  /** Entries of a group under other keys that have not expired. */
  const others = (name: string, key: string): VisitorUse[] =>
    [...(groups.get(name) ?? [])].flatMap(([known, one]) => (known !== key && one.until > now() ? [one] : []));
  const put = (name: string, key: string, use: VisitorUse | undefined): void => {
    const kept = [...(groups.get(name) ?? [])].filter(([known, one]) => known !== key && one.until > now());
    groups.delete(name);
    if (use || kept.length > 0) {
      groups.set(name, new Map(use ? [...kept, [key, use]] : kept));
    }
    const [oldest] = groups.keys();
    if (groups.size > MAX && oldest !== undefined) {
      groups.delete(oldest);
    }
  };
  const putAll = (visitor: Visitor, key: string, use: (index: number) => VisitorUse | undefined): void => {
    for (const [index, { name }] of visitor.entries()) {
      put(name, key, use(index));
    }
  };
  return {
    take(visitor, key, length, until) {
      const at = now();
      const wanted: VisitorUse = { isHold: until !== undefined, length, at, until: until ?? at + DAY };
      const isAllowed = visitor.every(({ name, times }) => {
        const use = others(name, key);
        const [hourly, daily] = [times * perHour, times * perHour * HOURS_PER_DAY];
        return hasRoom(use.filter(isIn(at - HOUR)), wanted, hourly) && hasRoom(use, wanted, daily);
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
