import type { ClosedDay } from '../../core/calendar/change/closed-days-list.ts';
import { holidaysOf } from '../../core/calendar/change/public-holidays.ts';

const datePattern = /^\d{4}-\d{2}-\d{2}$/;

function isDate(text: string): boolean {
  return datePattern.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text);
}

/**
 * Reads the days to close.
 *
 * @param last - if absent, the first day is also the last
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
export function publicHolidays(region: string, year: number): readonly ClosedDay[] {
  const found = holidaysOf(region, year);
  if ('problem' in found) {
    throw new Error(found.problem);
  }
  return found;
}
