import type { HealthcareService } from '@medplum/fhirtypes';
import Holidays from 'date-holidays';
import { artefactUri, type BookingConfig } from '../../core/config/config.ts';

/** Days on which everything is closed. */
export interface ClosedDay {
  /** First and last day, as dates. */
  readonly start: string;
  readonly end: string;
  readonly reason: string;
}

const datePattern = /^\d{4}-\d{2}-\d{2}$/;

function isDate(text: string): boolean {
  return datePattern.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text);
}

/**
 * Reads the days to close.
 *
 * @param last - the same as the first if absent
 * @throws Error that says how days are written
 */
export function closedDay(start: string, last: string | undefined, reason: string): ClosedDay {
  const end = last ?? start;
  if (!isDate(start) || !isDate(end)) {
    throw new Error(`Write days as 2027-12-24, not '${isDate(start) ? end : start}'.`);
  }
  if (end < start) {
    throw new Error(`The last day, ${end}, is before the first, ${start}.`);
  }
  return { start, end, reason };
}

/**
 * The public holidays of a year.
 *
 * @param region - country, or country and state: `AT`, `DE-BY`
 * @throws Error that says which regions there are
 */
export function publicHolidays(region: string, year: number): ClosedDay[] {
  const [country = '', state, district] = region.toUpperCase().split('-');
  const known = new Holidays();
  if (!Object.hasOwn(known.getCountries(), country)) {
    throw new Error(`There are no holidays of '${region}'. Write a country as AT, or with its state as DE-BY.`);
  }
  const states: unknown = known.getStates(country);
  const names = typeof states === 'object' && states !== null ? Object.keys(states) : [];
  if (state !== undefined && !names.includes(state)) {
    throw new Error(`${country} has no state '${state}', but ${names.join(', ') || 'none at all'}.`);
  }
  const calendar = district ? new Holidays(country, state ?? '', district) : new Holidays(country, state ?? '');
  return calendar
    .getHolidays(year)
    .filter(({ type }) => type === 'public')
    .map(({ date, name }) => ({ start: date.slice(0, 10), end: date.slice(0, 10), reason: name }));
}

/** The list of closed days as a resource, empty. */
export function emptyClosedDays(config: BookingConfig): HealthcareService {
  return {
    resourceType: 'HealthcareService',
    identifier: [{ system: artefactUri(config, 'LocalClosedDays'), value: 'practice' }],
    active: false,
    name: 'Closed days',
  };
}

/** What is closed, in order. */
export function closedDaysIn({ notAvailable = [] }: HealthcareService): ClosedDay[] {
  return notAvailable
    .map(({ description, during }) => ({ start: during?.start ?? '', end: during?.end ?? '', reason: description }))
    .sort((one, other) => (one.start < other.start ? -1 : 1));
}

function withDays(list: HealthcareService, days: readonly ClosedDay[]): HealthcareService {
  const notAvailable = days.map(({ start, end, reason }) => ({
    description: reason,
    during: { ...(start && { start }), ...(end && { end }) },
  }));
  const { notAvailable: _, ...rest } = list;
  return { ...rest, ...(notAvailable.length > 0 && { notAvailable }) };
}

/** The list with more closed days; those that are in it already are not entered twice. */
export function close(list: HealthcareService, days: readonly ClosedDay[]): HealthcareService {
  const stored = closedDaysIn(list);
  const isNew = ({ start, end }: ClosedDay): boolean => !stored.some((one) => one.start === start && one.end === end);
  return withDays(
    list,
    [...stored, ...days.filter(isNew)].sort((one, other) => (one.start < other.start ? -1 : 1)),
  );
}

/** The list without the closures that begin within some days. */
export function reopen(list: HealthcareService, { start, end }: ClosedDay): HealthcareService {
  return withDays(
    list,
    closedDaysIn(list).filter((one) => one.start < start || one.start > end),
  );
}
