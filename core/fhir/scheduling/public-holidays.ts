import Holidays from 'date-holidays';
import { DAY } from '../../time/time-zone.ts';
import { formatInstant } from '../instant.ts';
import type { ClosedDay } from './closed-days.ts';

export interface HolidayRegion {
  readonly code: string;
  readonly name: string;
}

export interface HolidayCountry extends HolidayRegion {
  readonly states: readonly HolidayRegion[];
}

const regionsIn = (names: unknown): HolidayRegion[] =>
  Object.entries(typeof names === 'object' && names !== null ? names : {}).map(([code, name]) => ({
    code,
    name: String(name),
  }));

export function holidayCountries(): HolidayCountry[] {
  const known = new Holidays();
  return regionsIn(known.getCountries()).map((country) => ({
    ...country,
    states: regionsIn(known.getStates(country.code)),
  }));
}

/** The public holidays of a year in a country or a state (`AT`, `DE-BY`), or a sentence about an unknown region. */
export function holidaysOf(region: string, year: number): readonly ClosedDay[] | { readonly problem: string } {
  const [country = '', state, district] = region.toUpperCase().split('-');
  const known = new Holidays();
  if (!Object.hasOwn(known.getCountries(), country)) {
    return { problem: `There are no holidays for '${region}'. Write a country as AT, or with its state as DE-BY.` };
  }
  const names = regionsIn(known.getStates(country)).map(({ code }) => code);
  if (state !== undefined && !names.includes(state)) {
    return { problem: `${country} has no state '${state}'. Known states: ${names.join(', ') || 'none'}.` };
  }
  const calendar = district ? new Holidays(country, state ?? '', district) : new Holidays(country, state ?? '');
  return calendar
    .getHolidays(year)
    .filter(({ type }) => type === 'public')
    .map(({ date, start, end, name }) => {
      const first = date.slice(0, 10);
      // A day on which the clocks go forward lacks an hour. A half holiday at the end does not count.
      const days = Math.floor((end.getTime() - start.getTime() + 3_600_000) / DAY) || 1;
      return { start: first, end: formatInstant(Date.parse(first) + (days - 1) * DAY).slice(0, 10), reason: name };
    });
}
