import type { Interval } from '../time/interval.ts';
import { DAY } from '../time/time-zone.ts';
import { isObject } from './resource.ts';

/** The UCUM units of durations in the service's extensions, in milliseconds. */
export const units: Readonly<Record<string, number>> = {
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  d: DAY,
  wk: 7 * DAY,
};

export const unitCodes: readonly string[] = Object.keys(units);

/**
 * Reads a Duration; `undefined` if the value is not a duration in one of the units.
 * @see https://hl7.org/fhir/R4/datatypes.html#duration
 */
export function milliseconds(value: unknown): number | undefined {
  if (!isObject(value) || value.comparator !== undefined || typeof value.value !== 'number') {
    return undefined;
  }
  const code = value.code ?? value.unit;
  const unit = typeof code === 'string' && Object.hasOwn(units, code) ? units[code] : undefined;
  const length = unit === undefined ? Number.NaN : Math.round(value.value * unit);
  return Number.isFinite(length) ? length : undefined;
}

const pattern =
  /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})T(?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2})(?:\.\d+)?(?<offset>Z|[+-](?:0\d|1[0-4]):[0-5]\d)$/;

/** The first and the last moment of FHIR in UTC: Medplum refuses others in searches. */
const [first, last] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')];

/** Whether a moment is in the UTC years 0001 to 9999. */
export const isInYears = (time: number): boolean => time >= first && time <= last;

/** Whether a text is a FHIR dateTime or instant outside of the UTC years 0001 to 9999. */
export function isOutOfYears(value: string): boolean {
  const time = /^\d{4}(?:-\d\d(?:-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d))?)?)?$/.test(value)
    ? Date.parse(value)
    : Number.NaN;
  return Number.isFinite(time) && !isInYears(time);
}

/**
 * Reads a FHIR instant in the UTC years 0001 to 9999. It must have a date, a time to the second and an offset, and it
 * must exist: no 30 February, no 24:00, no leap second.
 * @returns milliseconds since 1970-01-01T00:00:00Z; `undefined` if the value is not such an instant
 * @see https://hl7.org/fhir/R4/datatypes.html#instant
 */
export function parseInstant(value: unknown): number | undefined {
  const parts = typeof value === 'string' ? pattern.exec(value)?.groups : undefined;
  if (!parts) {
    return undefined;
  }
  const field = (name: string): number => Number(parts[name]);
  const midnight = new Date(Date.UTC(field('year'), field('month') - 1, field('day')));
  midnight.setUTCFullYear(field('year'));
  const isRealDay = midnight.getUTCMonth() === field('month') - 1 && midnight.getUTCDate() === field('day');
  const isRealTime = field('hour') < 24 && field('minute') < 60 && field('second') < 60;
  const time = Date.parse(value as string);
  return isRealDay && isRealTime && isInYears(time) ? time : undefined;
}

/** The time of an appointment, Slot or Period; `undefined` if it is incomplete or does not end after its start. */
export function timeOf({ start, end }: { readonly start?: string; readonly end?: string } = {}): Interval | undefined {
  const [from, to] = [parseInstant(start), parseInstant(end)];
  return from !== undefined && to !== undefined && from < to ? { start: from, end: to } : undefined;
}

/**
 * The stored form of an instant (milliseconds since 1970 UTC): in UTC. A moment outside the years 0001 to 9999, such as
 * a buffer, becomes the nearest moment within them.
 */
export function formatInstant(time: number): string {
  return new Date(Math.min(last, Math.max(first, time))).toISOString();
}
