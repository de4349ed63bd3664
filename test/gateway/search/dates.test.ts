import { describe, expect, it } from '@jest/globals';
import {
  FhirFilterComparison,
  FhirFilterConnective,
  type FhirFilterExpression,
  parseFilterParameter,
} from '@medplum/core';
import type { Encounter, Period } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { inOneCondition, rewriteDates } from '../../../gateway/search/parameters/dates.ts';
import { isIssue, type SearchParam } from '../../../gateway/search/parameters/param.ts';
import type { PeriodPart } from '../../../gateway/search/parameters/parameters.ts';
import { readPeriodSearch } from '../../../gateway/search/parameters/periods.ts';

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

const context = { timeZone: 'Europe/Berlin', now: Date.parse('2026-01-15T12:00:00Z') };

const encounter = (period?: Period): Encounter => ({
  resourceType: 'Encounter',
  status: 'finished',
  class: { code: 'IMP' },
  ...(period && { period }),
});

function matches(value: string, period: Period | undefined, part: PeriodPart = 'whole', name = 'date'): boolean {
  const found = readPeriodSearch({ name, value }, part, context);
  if (isIssue(found)) {
    throw new Error(found.diagnostics);
  }
  return found.matches(encounter(period));
}

describe('stays of a week: date=ge2026-01-05 and date=le2026-01-14', () => {
  it.each<[boolean, Period | undefined]>([
    [true, { start: '2026-01-06', end: '2026-01-08' }],
    [true, { start: '2026-01-01', end: '2026-03-01' }],
    [true, { start: '2026-01-05', end: '2026-01-05' }],
    [true, { start: '2026-01-14T23:30:00+01:00', end: '2026-02-01' }],
    [true, { start: '2021-01-01', end: '2026-01-05T00:00:00+01:00' }],
    [true, { start: '2021-01-01' }],
    [true, { start: '2026-01-14' }],
    [true, { end: '2026-01-05' }],
    [true, { end: '2026-03-01' }],
    [false, { start: '2026-01-15' }],
    [false, { end: '2026-01-04T23:59:59+01:00' }],
    [false, { start: '2026-03-01', end: '2026-04-01' }],
    [false, { start: '2025-11-01', end: '2025-12-10' }],
    [false, {}],
    [false, undefined],
  ])('%s: %j', (expected, period) => {
    const week = ['ge2026-01-05', 'le2026-01-14'];
    expect(week.every((value) => matches(value, period))).toBe(expected);
  });
});

const stay = { start: '2026-01-06T10:00:00+01:00', end: '2026-01-08T18:00:00+01:00' };

describe('each prefix, with a stay from the 6th to the 8th', () => {
  it.each<[string, boolean]>([
    ['2026-01', true],
    ['eq2026-01-06', false],
    ['2026-01-06,2026', true],
    ['ne2026-01-06', true],
    ['ne2026', false],
    ['gt2026-01-08', false],
    ['gt2026-01-08T18:00:00+01:00', false],
    ['gt2026-01-08T17:59:59+01:00', true],
    ['gt2026-01-07', true],
    ['gt2026-01-08T17:00:00+01:00', true],
    ['ge2026-01-08', true],
    ['ge2026-01-09', false],
    ['ge2026-01-08T18:00:01+01:00', false],
    ['ge2026-01-08T18:00:00+01:00', true],
    ['lt2026-01-06', false],
    ['lt2026-01-06T10:00:00+01:00', false],
    ['lt2026-01-06T10:00:01+01:00', true],
    ['lt2026-01-07', true],
    ['le2026-01-06', true],
    ['le2026-01-05', false],
    ['le2026-01-06T09:59:59+01:00', false],
    ['le2026-01-06T10:00:00+01:00', true],
    ['sa2026-01-06T09:59:59+01:00', true],
    ['sa2026-01-06T10:00:00+01:00', false],
    ['eb2026-01-08T18:00:01+01:00', true],
    ['eb2026-01-08T18:00:00+01:00', false],
    ['sa2026-01-05', true],
    ['sa2026-01-06', false],
    ['eb2026-01-09', true],
    ['eb2026-01-08', false],
    ['ap2026-01-09', true],
    ['ap2025-12-01', false],
  ])('%s: %s', (value, expected) => {
    expect(matches(value, stay)).toBe(expected);
  });
});

describe('one end of a period', () => {
  it.each<[PeriodPart, string, Period, boolean]>([
    ['start', 'ge2026-01-06', stay, true],
    ['start', 'gt2026-01-06', stay, false],
    ['start', '2026-01-06', stay, true],
    ['start', '2026-01-06', { start: '2026-01-05T23:30:00Z' }, true],
    ['start', 'le2050', { end: '2026-01-08' }, false],
    ['end', 'le2026-01-08', stay, true],
    ['end', 'lt2026-01-08', stay, false],
    ['end', 'ne2026-01-08', { start: '2026-01-06' }, false],
    ['end', 'le2050', { start: '2026-01-06' }, false],
    ['end', '2026-01-08', { end: '2026-01-08' }, true],
  ])('%s %s of %j: %s', (part, value, period, expected) => {
    expect(matches(value, period, part)).toBe(expected);
  });

  it.each<[PeriodPart, Period | undefined, boolean]>([
    ['whole', stay, false],
    ['whole', {}, true],
    ['whole', undefined, true],
    ['whole', { end: '2026-01-08' }, false],
    ['start', { end: '2026-01-08' }, true],
    ['end', { start: '2026-01-08' }, true],
  ])('whether it is missing: %s of %j', (part, period, expected) => {
    expect(matches('true', period, part, 'date:missing')).toBe(expected);
    expect(matches('false', period, part, 'date:missing')).toBe(!expected);
  });
});

it.each([null, [], [stay], 'x', { start: 5 }, { start: 'soon', end: null }])(
  'a period that is %j is none',
  (period) => {
    const strange = { ...encounter(), period } as unknown as Encounter;
    const isMissing = readPeriodSearch({ name: 'date:missing', value: 'true' }, 'whole', context);
    const isAny = readPeriodSearch({ name: 'date', value: 'gt0001' }, 'whole', context);
    expect('matches' in isMissing && isMissing.matches(strange)).toBe(true);
    expect('matches' in isAny && isAny.matches(strange)).toBe(false);
  },
);

it('what has no period has none', () => {
  const search = readPeriodSearch({ name: 'date:missing', value: 'true' }, 'whole', context);
  expect('matches' in search && search.matches({ resourceType: 'Patient' })).toBe(true);
  expect(search).toHaveProperty('element', 'period');
  expect(readPeriodSearch({ name: 'date', value: '2026' }, 'whole', context)).toHaveProperty('element', 'period');
});

it.each(['2026-13-01', 'yesterday', 'zz2026', Array(21).fill('2026').join(',')])('%s is refused', (value) => {
  expect(readPeriodSearch({ name: 'date', value }, 'whole', context)).toMatchObject({ expression: 'http.date' });
});
