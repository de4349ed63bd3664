import type { Interval } from './interval.ts';
import { DAY, instantOf, localTimeOf, offsetAt } from './time-zone.ts';

/** A day of the clinic's calendar, as `2027-01-11`. */
export type LocalDay = string;

const pattern = /^\d{4}-\d\d-\d\d$/;

/** Whether a text is a day that exists. */
export function isLocalDay(text: unknown): text is LocalDay {
  if (typeof text !== 'string' || !pattern.test(text)) {
    return false;
  }
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/** The local day at an instant. */
export function localDayOf(time: number, timeZone: string): LocalDay {
  return new Date(localTimeOf(timeZone, time)).toISOString().slice(0, 10);
}

/** The day a number of days later; earlier if negative. */
export function addDays(day: LocalDay, days: number): LocalDay {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY).toISOString().slice(0, 10);
}

/** The Monday of a day's week. */
export function mondayOf(day: LocalDay): LocalDay {
  const weekday = new Date(`${day}T00:00:00Z`).getUTCDay();
  return addDays(day, -((weekday + 6) % 7));
}

/** The period of a day, which has 23, 24 or 25 hours. */
export function intervalOf(day: LocalDay, timeZone: string): Interval {
  const midnight = (one: LocalDay) => instantOf(timeZone, Date.parse(`${one}T00:00:00Z`));
  return { start: midnight(day), end: midnight(addDays(day, 1)) };
}

/** The first midnight after an instant. */
export const nextMidnight = (time: number, timeZone: string): number =>
  instantOf(timeZone, (Math.floor(localTimeOf(timeZone, time) / DAY) + 1) * DAY);

/** Divides a period at the midnights of a time zone. */
export function* daysOf({ start, end }: Interval, timeZone: string): Generator<Interval> {
  for (let from = start; from < end; ) {
    const midnight = nextMidnight(from, timeZone);
    yield { start: from, end: Math.min(end, midnight) };
    from = midnight;
  }
}

/** The local time of an instant: `09:30`. */
export function clockTimeOf(time: number, timeZone: string): string {
  return new Date(localTimeOf(timeZone, time)).toISOString().slice(11, 16);
}

/**
 * The instant of a local time on the day on which an interval begins; if it occurs twice, the one within the interval.
 */
export function instantWithin(interval: Interval, time: string, timeZone: string): number {
  const local = Date.parse(`${localDayOf(interval.start, timeZone)}T${time}:00Z`);
  const possible = [interval.start, interval.end].map((one) => local - offsetAt(timeZone, one));
  const isWithin = (one: number) => one >= interval.start && one < interval.end;
  return possible.find((one) => isWithin(one) && localTimeOf(timeZone, one) === local) ?? instantOf(timeZone, local);
}

/** The instant of a local time on a day: `2027-01-11` and `09:30`. */
export function instantAt(day: LocalDay, time: string, timeZone: string): number {
  return instantOf(timeZone, Date.parse(`${day}T${time}:00Z`));
}

/** Aligns the times of a day with those of other days, hour by hour, as if the clocks did not change on that day. */
export function besideOthers(day: LocalDay, timeZone: string): (time: number) => number {
  const { start, end } = intervalOf(day, timeZone);
  const midnight = Date.parse(`${day}T00:00:00Z`);
  return end - start === DAY ? (time) => time : (time) => start + localTimeOf(timeZone, time) - midnight;
}
