import { describe, expect, it } from '@jest/globals';
import {
  FhirFilterComparison,
  FhirFilterConnective,
  type FhirFilterExpression,
  parseFilterParameter,
} from '@medplum/core';
import type { Period, Resource } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { readContextTypeValue } from '../../../gateway/search/parameters/context-type-value.ts';
import { inOneCondition, rewriteDates } from '../../../gateway/search/parameters/dates.ts';
import { isIssue, type SearchParam } from '../../../gateway/search/parameters/param.ts';
import type { SearchedPeriod } from '../../../gateway/search/parameters/parameters.ts';
import { readPeriodSearch } from '../../../gateway/search/parameters/periods.ts';
import { rows } from '../../lib/rows.ts';

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
      { numRuns: 200 },
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
        expect(
          params.every(
            (searchParam) => searchParam.name === '_filter' || /^\w\w\d{4}-\d\d-\d\d$/.test(searchParam.value),
          ),
        ).toBe(true);
        expect(finds(params, comparing(date, Date.parse))).toBe(expected);
      }),
    );
  });

  it('approximately: within a tenth of the time from now', () => {
    const about = (value: string) => rewritten('start', `ap${value}`, 'UTC').map((searchParam) => searchParam.value);
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
});

const context = { timeZone: 'Europe/Berlin', now: Date.parse('2026-01-15T12:00:00Z') };

const encounter = (period?: unknown): Resource => JSON.parse(JSON.stringify({ resourceType: 'Encounter', period }));

function matches(value: string, period: unknown, part: SearchedPeriod['part'] = 'whole', name = 'date'): boolean {
  const found = readPeriodSearch({ name, value }, { element: 'period', part }, context);
  if (isIssue(found)) {
    throw new Error(found.diagnostics);
  }
  return found.matches(encounter(period));
}

/** A period as `start/end`; either may be open. */
function periodOf(text: string): Period {
  const [start, end] = text.split('/');
  return { ...(start && { start }), ...(end && { end }) };
}

describe('periods that a search finds', () => {
  const stay = '2026-01-06T10:00:00+01:00/2026-01-08T18:00:00+01:00';

  it.each(
    rows(`
    whole ¦ ${stay} ¦ 2026-01 ¦ 2026-01-06,2026 ¦ ne2026-01-06 ¦ gt2026-01-07 ¦ gt2026-01-08T17:59:59+01:00 ¦ ge2026-01-08
    whole ¦ ${stay} ¦ ge2026-01-08T18:00:00+01:00 ¦ lt2026-01-07 ¦ lt2026-01-06T10:00:01+01:00 ¦ le2026-01-06
    whole ¦ ${stay} ¦ le2026-01-06T10:00:00+01:00 ¦ sa2026-01-05 ¦ sa2026-01-06T09:59:59+01:00 ¦ eb2026-01-09
    whole ¦ ${stay} ¦ eb2026-01-08T18:00:01+01:00 ¦ ap2026-01-09 ¦ ge2026-01-05 ¦ le2026-01-14 ¦ gt2026-01-08T17:00:00+01:00
    whole ¦ 2026-01-01/2026-03-01 ¦ ge2026-01-05 ¦ le2026-01-14
    whole ¦ 2026-01-05/2026-01-05 ¦ ge2026-01-05 ¦ le2026-01-14
    whole ¦ 2026-01-14T23:30:00+01:00/2026-02-01 ¦ ge2026-01-05 ¦ le2026-01-14
    whole ¦ 2021-01-01/2026-01-05T00:00:00+01:00 ¦ ge2026-01-05 ¦ le2026-01-14
    whole ¦ 2021-01-01/ ¦ ge2026-01-05 ¦ le2026-01-14
    whole ¦ 2026-01-14/ ¦ ge2026-01-05 ¦ le2026-01-14
    whole ¦ /2026-01-05 ¦ ge2026-01-05 ¦ le2026-01-14
    whole ¦ /2026-03-01 ¦ ge2026-01-05 ¦ le2026-01-14
    start ¦ ${stay} ¦ ge2026-01-06 ¦ 2026-01-06
    start ¦ 2026-01-05T23:30:00Z/ ¦ 2026-01-06
    end ¦ ${stay} ¦ le2026-01-08
    end ¦ /2026-01-08 ¦ 2026-01-08`),
  )('%s of %s', (part, period = '', ...values) => {
    expect(values.filter((value) => !matches(value, periodOf(period), part as SearchedPeriod['part']))).toEqual([]);
  });

  it.each(
    rows(`
    whole ¦ ${stay} ¦ eq2026-01-06 ¦ ne2026 ¦ gt2026-01-08 ¦ gt2026-01-08T18:00:00+01:00 ¦ ge2026-01-09
    whole ¦ ${stay} ¦ ge2026-01-08T18:00:01+01:00 ¦ lt2026-01-06 ¦ lt2026-01-06T10:00:00+01:00 ¦ le2026-01-05
    whole ¦ ${stay} ¦ le2026-01-06T09:59:59+01:00 ¦ sa2026-01-06 ¦ sa2026-01-06T10:00:00+01:00 ¦ eb2026-01-08
    whole ¦ ${stay} ¦ eb2026-01-08T18:00:00+01:00 ¦ ap2025-12-01
    whole ¦ 2026-01-15/ ¦ le2026-01-14
    whole ¦ /2026-01-04T23:59:59+01:00 ¦ ge2026-01-05
    whole ¦ 2026-03-01/2026-04-01 ¦ le2026-01-14
    whole ¦ 2025-11-01/2025-12-10 ¦ ge2026-01-05
    whole ¦ / ¦ ge2026-01-05 ¦ le2026-01-14
    start ¦ ${stay} ¦ gt2026-01-06
    start ¦ /2026-01-08 ¦ le2050
    end ¦ ${stay} ¦ lt2026-01-08
    end ¦ 2026-01-06/ ¦ ne2026-01-08 ¦ le2050`),
  )('but not %s of %s', (part, period = '', ...values) => {
    expect(values.filter((value) => matches(value, periodOf(period), part as SearchedPeriod['part']))).toEqual([]);
  });

  it.each<[SearchedPeriod['part'], unknown, boolean]>([
    ['whole', periodOf(stay), false],
    ['whole', { end: '2026-01-08' }, false],
    ['start', { end: '2026-01-08' }, true],
    ['end', { start: '2026-01-08' }, true],
    ...[undefined, {}, null, [], [periodOf(stay)], 'x', { start: 5 }, { start: 'soon', end: null }].map(
      (period): [SearchedPeriod['part'], unknown, boolean] => ['whole', period, true],
    ),
  ])('whether it is missing: %s of %j', (part, period, expected) => {
    expect(matches('true', period, part, 'date:missing')).toBe(expected);
    expect(matches('false', period, part, 'date:missing')).toBe(!expected);
    expect(matches('gt0001', period, part)).toBe(!expected);
  });
});

describe('context-type-value', () => {
  const finds = (value: string, useContext: unknown): boolean => {
    const search = readContextTypeValue(value);
    const resource: Resource = JSON.parse(JSON.stringify({ resourceType: 'CodeSystem', useContext }));
    return 'matches' in search && search.matches(resource);
  };
  const use = (code: object | undefined, ...coding: object[]) => ({ code, valueCodeableConcept: { coding } });
  const coded = [use({ system: 'urn:t', code: 'use' }, { system: 'urn:r', code: 'Schedule' })];
  const inWords = [use({ code: 'use' }, { code: 'Schedule' })];

  it.each(
    rows(`
    urn:t|use$urn:r|Schedule ¦ yes ¦ no
    use$Schedule ¦ yes ¦ yes
    |use$|Schedule ¦ no ¦ yes
    urn:t|use$Schedule ¦ yes ¦ no
    use$|Schedule ¦ no ¦ yes
    urn:t|$urn:r| ¦ yes ¦ no
    urn:t|other$urn:r|Schedule ¦ no ¦ no
    urn:other|use$urn:r|Schedule ¦ no ¦ no
    urn:t|use$urn:r|Slot ¦ no ¦ no
    urn:t|use$urn:other|Schedule ¦ no ¦ no
    a$b,use$Schedule ¦ yes ¦ yes`),
  )('%s finds codes with systems: %s, without: %s', (value = '', ...expected) => {
    expect([coded, inWords].map((one) => (finds(value, one) ? 'yes' : 'no'))).toEqual(expected);
  });

  it.each<[string, unknown, boolean]>([
    ['use$Schedule', [use({ code: 'use' }, { code: 'Slot' }, { code: 'Schedule' })], true],
    ['use$Schedule', [use({ code: 'use' }, { code: 'Slot' }), use({ code: 'other' }, { code: 'Schedule' })], false],
    ['use$Schedule', [{ code: { code: 'use' } }], false],
    ['use$|', [{ code: { code: 'use' } }], false],
    ['use$Schedule', 'use', false],
    ['use$Schedule', undefined, false],
    ['use$Schedule', [use(undefined, { code: 'Schedule' })], false],
    ['|$|', [use(undefined, {})], false],
    ['a\\|b|c\\$d$e\\,f|g\\\\h', [use({ system: 'a|b', code: 'c$d' }, { system: 'e,f', code: 'g\\h' })], true],
    ['a\\|b|c\\$d$e\\,f|gh', [use({ system: 'a|b', code: 'c$d' }, { system: 'e,f', code: 'g\\h' })], false],
    ['a\\\nb$c', [use({ code: 'a\nb' }, { code: 'c' })], true],
    ['a$c\\', [use({ code: 'a' }, { code: 'c\\' })], true],
  ])('%s of %j: %s', (value, useContext, expected) => {
    expect(finds(value, useContext)).toBe(expected);
  });
});
