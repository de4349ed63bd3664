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
 *
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
