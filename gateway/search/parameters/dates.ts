import type { BookingConfig } from '../../../core/config/config.ts';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { type Issue, quoted } from '../../../core/fhir/outcome/outcome.ts';
import type { Interval } from '../../../core/time/interval.ts';
import { dateRange, localDateRange } from '../../../core/time/local-day.ts';
import { isIssue, type SearchParam, searchIssue } from './param.ts';

/** The context of a date in a search. */
export interface DateContext extends Pick<BookingConfig, 'timeZone'> {
  /** Milliseconds since 1970 UTC; the present for `ap`. */
  readonly now: number;
}

/** A comparison that Medplum carries out the way FHIR means it: with one moment, not with a range. */
interface Comparison {
  readonly operator: 'ge' | 'lt';
  readonly time: number;
}

/** Comparisons that must all hold. */
type Condition = readonly Comparison[];

const notBefore = (time: number): Comparison => ({ operator: 'ge', time });
const before = (time: number): Comparison => ({ operator: 'lt', time });

/** A range extended on both sides by a tenth of the time between it and the present, as FHIR recommends for `ap`. */
export function approximately({ start, end }: Interval, now: number): Interval {
  const more = Math.round(Math.max(0, start - now, now - end) / 10);
  return { start: start - more, end: end + more };
}

/**
 * FHIR's prefixes. Every stored date is one moment, or one day where the element has no times, and never straddles a
 * boundary of the range that it is compared with; so `gt` and `sa`, `lt` and `eb` are the same.
 */
const prefixes = {
  eq: ({ start, end }) => [[notBefore(start), before(end)]],
  ne: ({ start, end }) => [[before(start)], [notBefore(end)]],
  gt: ({ end }) => [[notBefore(end)]],
  sa: ({ end }) => [[notBefore(end)]],
  ge: ({ start }) => [[notBefore(start)]],
  lt: ({ start }) => [[before(start)]],
  eb: ({ start }) => [[before(start)]],
  le: ({ end }) => [[before(end)]],
  ap: (range, now) => {
    const { start, end } = approximately(range, now);
    return [[notBefore(start), before(end)]];
  },
} as const satisfies Record<string, (range: Interval, now: number) => readonly Condition[]>;

/** FHIR's prefixes of dates; `eq` if there is none. */
export type Prefix = keyof typeof prefixes;

const isPrefix = (text: string): text is Prefix => Object.hasOwn(prefixes, text);

/** A date in a search: its prefix, and the time that it stands for. */
interface SearchedDate {
  readonly prefix: Prefix;
  readonly range: Interval;
}

/** The most dates in one list; each makes the search longer. */
const maxDates = 20;

/** Writes a time as Medplum reads it, within the years that it accepts. */
function written(time: number, isDate: boolean): string {
  const text = formatInstant(time);
  return isDate ? text.slice(0, 10) : text;
}

/** A plus sign that was not encoded arrives as a space. */
const restored = (value: string): string => value.replace(/ (?=\d\d:\d\d$)/, '+');

/** The range of a date; for an element without times, in local days as if they were UTC. */
function rangeOf(value: string, isDate: boolean, timeZone: string): Interval | undefined {
  return isDate ? localDateRange(value) : dateRange(restored(value), timeZone);
}

/** One date of a list, with or without a prefix; `undefined` if it is malformed. */
function readDate(value: string, isDate: boolean, timeZone: string): SearchedDate | undefined {
  const prefix = value.slice(0, 2);
  const range = rangeOf(isPrefix(prefix) ? value.slice(2) : value, isDate, timeZone);
  return range && { prefix: isPrefix(prefix) ? prefix : 'eq', range };
}

/**
 * Reads the dates of a search, separated by commas.
 *
 * @param sent - name of the parameter, without chain or modifier, and its value
 * @param isDate - whether the element has no times (`Patient.birthDate`)
 * @returns the dates, of which one must match; or the issue
 */
export function readDates(
  { name, value }: SearchParam,
  isDate: boolean,
  timeZone: string,
): readonly SearchedDate[] | Issue {
  const dates = value.split(',');
  if (dates.length > maxDates) {
    return searchIssue(name, `'${name}' can have at most ${maxDates} dates, separated by commas.`);
  }
  const read = dates.map((date) => readDate(date.trim(), isDate, timeZone));
  const wrong = dates[read.indexOf(undefined)];
  if (wrong !== undefined) {
    const forms = isDate ? '1990, 1990-12 or 1990-12-31' : '2027-01-31 or 2027-01-31T10:00:00+01:00';
    const diagnostics = `'${name}' must be a date such as ${forms}, after ${Object.keys(prefixes).join(', ')} or nothing; it is ${quoted(wrong)}.`;
    return searchIssue(name, diagnostics);
  }
  return read.flatMap((searchedDate) => searchedDate ?? []);
}

/** Brackets make Medplum read a `_filter` as meant: it gives `and` no precedence over `or`. */
function asExpression(name: string, conditions: readonly Condition[], isDate: boolean): string {
  const comparison = ({ operator, time }: Comparison) => `${name} ${operator} "${written(time, isDate)}"`;
  return conditions.map((condition) => `(${condition.map(comparison).join(' and ')})`).join(' or ');
}

/**
 * Rewrites a search for dates so that Medplum answers it correctly. Medplum compares with a single moment in UTC:
 * `eq2027-01-31` finds only midnight.
 *
 * @param sent - name of the parameter, without chain or modifier, and the dates, separated by commas
 * @param isDate - whether the element has no times (`Patient.birthDate`)
 * @returns for one range: parameters with `ge` and `lt`, all of which must hold. For several ranges: one `_filter` that
 *   joins them by `or`. Or the issue
 * @see https://hl7.org/fhir/R4/search.html#date
 */
export function rewriteDates(
  sent: SearchParam,
  isDate: boolean,
  { timeZone, now }: DateContext,
): readonly SearchParam[] | Issue {
  const dates = readDates(sent, isDate, timeZone);
  if (isIssue(dates)) {
    return dates;
  }
  const { name } = sent;
  const conditions = dates.flatMap(({ prefix, range }): readonly Condition[] => prefixes[prefix](range, now));
  const [only] = conditions;
  return only && conditions.length === 1
    ? only.map(({ operator, time }) => ({ name, value: `${operator}${written(time, isDate)}` }))
    : [{ name: '_filter', value: asExpression(name, conditions, isDate) }];
}

/**
 * Joins conditions of `rewriteDates` where there is room for only one, as at the end of a chain: they must hold for one
 * and the same resource.
 */
export function inOneCondition(params: readonly SearchParam[]): SearchParam {
  const [only] = params;
  const comparison = ({ name, value }: SearchParam) => `${name} ${value.slice(0, 2)} "${value.slice(2)}"`;
  return only && params.length === 1 ? only : { name: '_filter', value: params.map(comparison).join(' and ') };
}
