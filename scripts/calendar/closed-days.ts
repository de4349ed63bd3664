import Holidays from 'date-holidays';
import type { ClosedDay } from '../../core/calendar/change/closed-days-list.ts';

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
