import { describe, expect, it } from '@jest/globals';
import type { Encounter, Period } from '@medplum/fhirtypes';
import { isIssue } from '../../../../gateway/search/parameters/param.ts';
import type { PeriodPart } from '../../../../gateway/search/parameters/parameters.ts';
import { readPeriodSearch } from '../../../../gateway/search/parameters/periods.ts';

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
