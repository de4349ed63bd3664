/**
 * Dates in searches against FHIR's own words: what is stored, and what is written in the search, are ranges; each prefix
 * says how the two must lie (https://hl7.org/fhir/R4/search.html#prefix). What the rewriting gives is carried out here on
 * moments, as Medplum does on its columns.
 */
import { describe, expect, it } from '@jest/globals';
import {
  FhirFilterComparison,
  FhirFilterConnective,
  type FhirFilterExpression,
  parseFilterParameter,
} from '@medplum/core';
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { inOneCondition, rewriteDates } from '../../../../gateway/search/parameters/dates.ts';
import { isIssue, type SearchParam } from '../../../../gateway/search/parameters/param.ts';

/** From the first moment to the last, both included. */
interface Range {
  readonly low: number;
  readonly high: number;
}

const now = Date.parse('2027-01-15T12:00:00Z');

const contains = (outer: Range, inner: Range) => outer.low <= inner.low && inner.high <= outer.high;
const overlap = (a: Range, b: Range) => a.low <= b.high && b.low <= a.high;
const above = ({ high }: Range): Range => ({ low: high + 1, high: Number.POSITIVE_INFINITY });
const below = ({ low }: Range): Range => ({ low: Number.NEGATIVE_INFINITY, high: low - 1 });

const fhir: Readonly<Record<string, (searched: Range, target: Range) => boolean>> = {
  eq: contains,
  ne: (searched, target) => !contains(searched, target),
  gt: (searched, target) => overlap(above(searched), target),
  lt: (searched, target) => overlap(below(searched), target),
  ge: (searched, target) => overlap(above(searched), target) || contains(searched, target),
  le: (searched, target) => overlap(below(searched), target) || contains(searched, target),
  sa: (searched, target) => !overlap(searched, target) && contains(above(searched), target),
  eb: (searched, target) => !overlap(searched, target) && contains(below(searched), target),
};

function rangeByTemporal(value: string, timeZone: string): Range {
  const zoned = (date: Temporal.PlainDate) => date.toZonedDateTime(timeZone).epochMilliseconds;
  const whole = (date: Temporal.PlainDate, length: Temporal.DurationLike) => ({
    low: zoned(date),
    high: zoned(date.add(length)) - 1,
  });
  if (/^\d{4}$/.test(value)) {
    return whole(Temporal.PlainDate.from(`${value}-01-01`), { years: 1 });
  }
  if (/^\d{4}-\d\d$/.test(value)) {
    return whole(Temporal.PlainDate.from(`${value}-01`), { months: 1 });
  }
  if (/^\d{4}-\d\d-\d\d$/.test(value)) {
    return whole(Temporal.PlainDate.from(value), { days: 1 });
  }
  const low = /Z$/.test(value)
    ? Temporal.Instant.from(value.replace(/T(\d\d:\d\d)Z/, 'T$1:00Z')).epochMilliseconds
    : Temporal.PlainDateTime.from(value).toZonedDateTime(timeZone).epochMilliseconds;
  const length = /T\d\d:\d\dZ?$/.test(value) ? 60_000 : /\.\d{3}Z?$/.test(value) ? 1 : 1000;
  return { low, high: low + length - 1 };
}

type Compare = (operator: string, written: string) => boolean;

/** Medplum's reading of `_filter`, by its own parser. */
function holds(expression: FhirFilterExpression, compare: Compare): boolean {
  if (expression instanceof FhirFilterConnective) {
    const [left, right] = [holds(expression.left, compare), holds(expression.right, compare)];
    return expression.keyword === 'and' ? left && right : left || right;
  }
  if (expression instanceof FhirFilterComparison) {
    return compare(expression.operator, expression.value);
  }
  throw new Error('The rewriting negates nothing.');
}

const finds = (params: readonly SearchParam[], compare: Compare) =>
  params.every(({ name, value }) =>
    name === '_filter' ? holds(parseFilterParameter(value), compare) : compare(value.slice(0, 2), value.slice(2)),
  );

/** Medplum compares columns of moments, and of dates, with what is written. */
function comparing(stored: string, of: (text: string) => number): Compare {
  return (operator, written) => {
    expect(['ge', 'lt']).toContain(operator);
    return operator === 'ge' ? of(stored) >= of(written) : of(stored) < of(written);
  };
}

function rewritten(name: string, value: string, timeZone: string): readonly SearchParam[] {
  const params = rewriteDates({ name, value }, name === 'birthdate', { timeZone, now });
  if (isIssue(params)) {
    throw new Error(params.diagnostics);
  }
  return params;
}

const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'Pacific/Chatham');
/** Around the changes of the clocks, around midnights, and at the borders of what is written. */
const moment = fc.integer({ min: Date.parse('2026-12-30'), max: Date.parse('2028-01-02') });
const precision = fc.constantFrom(4, 7, 10, 16, 19, 23);
const prefix = fc.constantFrom('', 'eq', 'ne', 'gt', 'lt', 'ge', 'le', 'sa', 'eb');
const isUtc = fc.boolean();

const searched = fc.tuple(prefix, moment, precision, isUtc).map(([sign, time, digits, utc]) => ({
  sign,
  value: `${new Date(time).toISOString().slice(0, digits)}${utc && digits > 10 ? 'Z' : ''}`,
}));

/** Moments at the borders of a range, and anywhere. */
function targets(ranges: readonly Range[], anywhere: number): number[] {
  return [anywhere, ...ranges.flatMap(({ low, high }) => [low - 1, low, low + 1, high - 1, high, high + 1])];
}

describe('dates in searches', () => {
  it('are compared with moments as FHIR says, one or several', () => {
    fc.assert(
      fc.property(fc.array(searched, { minLength: 1, maxLength: 3 }), zone, moment, (list, timeZone, anywhere) => {
        const params = rewritten('start', list.map(({ sign, value }) => `${sign}${value}`).join(','), timeZone);
        const ranges = list.map(({ value }) => rangeByTemporal(value, timeZone));
        for (const time of targets(ranges, anywhere)) {
          const expected = list.some(({ sign }, index) => {
            const range = ranges[index];
            return range && fhir[sign || 'eq']?.(range, { low: time, high: time });
          });
          const compare = comparing(new Date(time).toISOString(), Date.parse);
          expect(finds(params, compare)).toBe(expected);
          expect(finds([inOneCondition(params)], compare)).toBe(expected);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('are compared with dates as FHIR says, whatever the time zone', () => {
    const day = fc.integer({ min: Date.parse('1989-12-20'), max: Date.parse('1991-01-10') });
    const digits = fc.constantFrom(4, 7, 10);
    fc.assert(
      fc.property(prefix, day, digits, day, zone, (sign, time, length, stored, timeZone) => {
        const value = new Date(time).toISOString().slice(0, length);
        const date = new Date(stored).toISOString().slice(0, 10);
        const expected = fhir[sign || 'eq']?.(rangeByTemporal(value, 'UTC'), rangeByTemporal(date, 'UTC'));
        const params = rewritten('birthdate', `${sign}${value}`, timeZone);
        expect(params.every((one) => one.name === '_filter' || /^\w\w\d{4}-\d\d-\d\d$/.test(one.value))).toBe(true);
        expect(finds(params, comparing(date, Date.parse))).toBe(expected);
      }),
    );
  });

  it('approximately: within a tenth of the time from now', () => {
    const about = (value: string) => rewritten('start', `ap${value}`, 'UTC').map((one) => one.value);
    expect(about('2027-01-25')).toEqual(['ge2027-01-24T01:12:00.000Z', 'lt2027-01-26T22:48:00.000Z']);
    expect(about('2027-01-05')).toEqual(['ge2027-01-04T01:12:00.000Z', 'lt2027-01-06T22:48:00.000Z']);
    expect(about('2027-01-15')).toEqual(['ge2027-01-15T00:00:00.000Z', 'lt2027-01-16T00:00:00.000Z']);
  });

  it('stay within the years that the database takes', () => {
    expect(rewritten('start', 'le9999-12-31', 'America/New_York')).toEqual([
      { name: 'start', value: 'lt9999-12-31T23:59:59.999Z' },
    ]);
    expect(rewritten('birthdate', '9999', 'UTC').map(({ value }) => value)).toEqual(['ge9999-01-01', 'lt9999-12-31']);
  });

  it('stay within them at their beginning, too', () => {
    expect(rewritten('start', 'ge0000', 'UTC')).toEqual([{ name: 'start', value: 'ge0001-01-01T00:00:00.000Z' }]);
    expect(rewritten('birthdate', 'lt0000-12', 'UTC')).toEqual([{ name: 'birthdate', value: 'lt0001-01-01' }]);
  });

  it('are read without the spaces around them, and with a plus sign that was not encoded', () => {
    expect(rewritten('start', ' 2027-01-01T10:00:00 01:00 ', 'UTC')).toEqual([
      { name: 'start', value: 'ge2027-01-01T09:00:00.000Z' },
      { name: 'start', value: 'lt2027-01-01T09:00:01.000Z' },
    ]);
    expect(rewritten('birthdate', '1990, ne1991', 'UTC')).toHaveLength(1);
  });

  it('can be twenty in one list', () => {
    const list = (count: number) => Array.from({ length: count }, (_, index) => `gt20${index + 10}`).join(',');
    expect(rewritten('start', list(20), 'UTC')).toHaveLength(1);
    expect(rewriteDates({ name: 'start', value: list(21) }, false, { timeZone: 'UTC', now })).toEqual({
      code: 'malformed-request',
      diagnostics: "'start' can have at most 20 dates, separated by commas.",
      expression: 'http.start',
    });
  });

  it.each([
    ['start', 'ge2027-01-01, soon,later', '2027-01-31 or 2027-01-31T10:00:00+01:00', ' soon'],
    ['start', 'xx2027', '2027-01-31 or 2027-01-31T10:00:00+01:00', 'xx2027'],
    ['start', '2027,', '2027-01-31 or 2027-01-31T10:00:00+01:00', ''],
    ['start', '2027-01-01T10:00:00  01:00', '2027-01-31 or 2027-01-31T10:00:00+01:00', '2027-01-01T10:00:00  01:00'],
    ['birthdate', '1990-01-01T10:00:00Z', '1990, 1990-12 or 1990-12-31', '1990-01-01T10:00:00Z'],
  ])('%s=%s is refused with what a date looks like', (name, value, forms, wrong) => {
    expect(rewriteDates({ name, value }, name === 'birthdate', { timeZone: 'UTC', now })).toEqual({
      code: 'malformed-request',
      diagnostics: `'${name}' must be a date such as ${forms}, after eq, ne, gt, sa, ge, lt, eb, le, ap or nothing; it is '${wrong}'.`,
      expression: `http.${name}`,
    });
  });
});
