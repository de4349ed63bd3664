import { isObject } from '../../fhir/resource.ts';
import { DAY } from '../../time/time-zone.ts';

/** The units in which a policy gives lengths of time (UCUM), in milliseconds. */
const units: Readonly<Record<string, number>> = {
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  d: DAY,
  wk: 7 * DAY,
};

/** The UCUM codes of these units. */
export const unitCodes: readonly string[] = Object.keys(units);

/** A year of 365 days, in milliseconds. */
export const YEAR = 365 * DAY;

/**
 * Reads a Duration.
 *
 * @param value - of any shape
 * @returns its length in milliseconds, or `undefined` if it is not a length of time in one of the units
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

/** A length of time as text for people: `90 min`, `3 d`. */
export function lengthText(length: number): string {
  const [code = 's', unit = 1_000] =
    Object.entries(units).findLast(([name, size]) => name !== 'wk' && length >= size && length % size === 0) ?? [];
  return `${length / unit} ${code}`;
}
