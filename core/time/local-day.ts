import { isInYears } from '../fhir/instant.ts';
import type { Interval } from './interval.ts';
import { DAY, instantOf, localTimeOf, offsetAt } from './time-zone.ts';

const datePattern = /^(?<year>\d{4})(?:-(?<month>0[1-9]|1[0-2])(?:-(?<day>0[1-9]|[12]\d|3[01]))?)?$/;

const timePattern =
  /^(?<date>\d{4}-\d\d-\d\d)T(?<hours>[01]\d|2[0-3]):(?<minutes>[0-5]\d)(?::(?<seconds>[0-5]\d)(?:\.(?<fraction>\d{1,9}))?)?(?<offset>Z|[+-](?:0\d|1[0-4]):[0-5]\d)?$/;

/** `Date.UTC` treats the years 0 to 99 as 1900 to 1999. */
function midnightOf(year: number, month: number, day: number): number {
  const midnight = new Date(Date.UTC(2000, month, day));
  return midnight.setUTCFullYear(year, month, day);
}

/**
 * The local time of a date, a month or a year (`2027`, `2027-01`, `2027-01-31`) up to, not including, the next one; as
 * if it were UTC. `undefined` if there is no such date.
 * @see https://hl7.org/fhir/R4/datatypes.html#date
 */
export function localDateRange(value: string): Interval | undefined {
  const parts = datePattern.exec(value)?.groups;
  if (!parts) {
    return undefined;
  }
  const [year, month, day] = [Number(parts.year), Number(parts.month ?? 1) - 1, Number(parts.day ?? 1)];
  const start = midnightOf(year, month, day);
  if (new Date(start).getUTCMonth() !== month) {
    return undefined;
  }
  const end = parts.day ? start + DAY : parts.month ? midnightOf(year, month + 1, 1) : midnightOf(year + 1, 0, 1);
  return { start, end };
}

/** The precision of a time, in milliseconds. */
function lengthOf(seconds: string | undefined, fraction: string | undefined): number {
  return seconds === undefined ? 60_000 : Math.max(1, 1000 / 10 ** (fraction?.length ?? 0));
}

function offsetOf(text: string): number {
  const [hours, minutes] = text.slice(1).split(':').map(Number);
  return text === 'Z' ? 0 : (text.startsWith('-') ? -1 : 1) * ((hours ?? 0) * 60 + (minutes ?? 0)) * 60_000;
}

/**
 * The period of a FHIR date, dateTime or instant by its precision: a year, a month, a day, a minute, a second or a part
 * of a second. A value without an offset is in the time zone (IANA name). A local time that occurs twice is the earlier
 * one.
 * @returns from `start` up to, not including, `end`, in milliseconds since 1970 UTC; `undefined` if there is no such
 *   time (30 February, 24:00, a leap second), or an offset leads out of the years 0001 to 9999 in UTC
 * @see https://hl7.org/fhir/R4/search.html#date
 */
export function dateRange(value: string, timeZone: string): Interval | undefined {
  const dates = localDateRange(value);
  if (dates) {
    return { start: instantOf(timeZone, dates.start), end: instantOf(timeZone, dates.end) };
  }
  const { date = '', hours, minutes, seconds, fraction, offset } = timePattern.exec(value)?.groups ?? {};
  const day = localDateRange(date);
  if (!day) {
    return undefined;
  }
  const milliseconds = Number(`${fraction ?? ''}000`.slice(0, 3));
  const time = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds ?? 0)) * 1000 + milliseconds;
  const local = day.start + time;
  const start = offset === undefined ? instantOf(timeZone, local) : local - offsetOf(offset);
  if (offset !== undefined && !isInYears(start)) {
    return undefined;
  }
  return { start, end: start + lengthOf(seconds, fraction) };
}

/** A day of the clinic's calendar, as `2027-01-11`. */
export type LocalDay = string;

const pattern = /^\d{4}-\d\d-\d\d$/;

export function isLocalDay(text: unknown): text is LocalDay {
  if (typeof text !== 'string' || !pattern.test(text)) {
    return false;
  }
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

export function localDayOf(time: number, timeZone: string): LocalDay {
  return new Date(localTimeOf(timeZone, time)).toISOString().slice(0, 10);
}

/** The day a number of days later; earlier if negative. */
export function addDays(day: LocalDay, days: number): LocalDay {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY).toISOString().slice(0, 10);
}

export function mondayOf(day: LocalDay): LocalDay {
  const weekday = new Date(`${day}T00:00:00Z`).getUTCDay();
  return addDays(day, -((weekday + 6) % 7));
}

/** The period of a day, which has 23, 24 or 25 hours. */
export function intervalOf(day: LocalDay, timeZone: string): Interval {
  const midnight = (one: LocalDay) => instantOf(timeZone, Date.parse(`${one}T00:00:00Z`));
  return { start: midnight(day), end: midnight(addDays(day, 1)) };
}

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
