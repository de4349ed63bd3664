import { isInYears } from '../fhir/instant.ts';
import type { Interval } from './interval.ts';
import { DAY, instantOf } from './time-zone.ts';

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
 *
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
 *
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
