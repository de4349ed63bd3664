import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { overlaps } from '../../../core/time/interval.ts';
import {
  addDays,
  besideOthers,
  clockTimeOf,
  instantAt,
  instantWithin,
  intervalOf,
  isLocalDay,
  localDayOf,
  mondayOf,
} from '../../../core/time/local-day.ts';
import { hoursOf, inLanes, pixelsPerMinute, shownHours } from '../day/layout.ts';
import { type Arrow, focusAfter } from '../day/move-focus.ts';

const HOUR = 3_600_000;
const berlin = 'Europe/Berlin';

const intervals = fc
  .array(fc.tuple(fc.nat(100), fc.integer({ min: 1, max: 20 })))
  .map((all) => all.map(([start, length]) => ({ start, end: start + length })).toSorted((a, b) => a.start - b.start));

describe('lanes', () => {
  test('what overlaps stands beside each other, in no more lanes than anything there needs', () => {
    fc.assert(
      fc.property(intervals, (items) => {
        const placed = inLanes(items);
        expect(placed.map(({ item }) => item)).toEqual(items);
        for (const one of placed) {
          const beside = placed.filter((other) => other !== one && overlaps(one.item, other.item));
          expect(beside.every(({ lane, lanes }) => lane !== one.lane && lanes === one.lanes)).toBe(true);
          expect(one.lane).toBeLessThan(one.lanes);
          const deepest = Math.max(
            ...placed.map(
              ({ item }) => placed.filter(({ item: { start, end } }) => start <= item.start && item.start < end).length,
            ),
          );
          expect(one.lanes).toBeLessThanOrEqual(deepest);
        }
      }),
    );
  });
});

describe('the hours that are shown', () => {
  const day = intervalOf('2027-01-11', berlin);
  test('are eight to six, and what lies outside, in full hours', () => {
    expect(shownHours(day, [])).toEqual({ start: day.start + 8 * HOUR, end: day.start + 18 * HOUR });
    const early = { start: day.start + 6.5 * HOUR, end: day.start + 7 * HOUR };
    const late = { start: day.start + 20 * HOUR, end: day.start + 20.5 * HOUR };
    expect(shownHours(day, [early, late])).toEqual({ start: day.start + 6 * HOUR, end: day.start + 21 * HOUR });
  });
  test('are not more for a whole day that is closed', () => {
    expect(shownHours(day, [day])).toEqual(shownHours(day, []));
  });
  test('give room to the shortest entry', () => {
    expect(pixelsPerMinute([{ start: 0, end: 600_000 }]) * 10).toBeGreaterThanOrEqual(24);
    expect(pixelsPerMinute([])).toBe(1.2);
  });
});

describe('a day of the clinic', () => {
  test.each([
    ['2026-10-25', 25],
    ['2027-03-28', 23],
    ['2027-01-11', 24],
  ])('%s has %i hours', (day, count) => {
    expect(hoursOf(intervalOf(day, berlin))).toHaveLength(count);
  });
  test('is known by its instants', () => {
    expect(localDayOf(Date.parse('2027-01-10T23:30:00Z'), berlin)).toBe('2027-01-11');
    expect(instantAt('2027-01-11', '09:30', berlin)).toBe(Date.parse('2027-01-11T08:30:00Z'));
  });
  test.each(['2027-02-30', '2027-1-1', '', null, undefined, 'today'])('%p is none', (text) => {
    expect(isLocalDay(text)).toBe(false);
  });
  test.each([
    ['2027-01-11', '2027-01-11'],
    ['2027-01-17', '2027-01-11'],
    ['2027-01-01', '2026-12-28'],
  ])('the week of %s begins on %s', (day, monday) => {
    expect(mondayOf(day)).toBe(monday);
    expect(addDays(mondayOf(day), 6) >= day).toBe(true);
  });
});

describe('the arrow keys', () => {
  const column = (...starts: number[]) => starts.map((start) => ({ key: `${start}`, start, end: start + 10 }));
  const columns = [column(0, 10, 20), [], column(5, 30)];
  test.each<readonly [number, string, Arrow, number, string]>([
    [0, '0', 'ArrowDown', 0, '10'],
    [0, '20', 'ArrowDown', 0, '20'],
    [0, '0', 'ArrowUp', 0, '0'],
    [0, '10', 'ArrowRight', 2, '5'],
    [2, '30', 'ArrowLeft', 0, '20'],
    [0, '0', 'ArrowLeft', 0, '0'],
    [0, '10', 'End', 0, '20'],
    [0, '10', 'Home', 0, '0'],
  ])('from column %i, %s: %s leads to column %i, %s', (from, key, arrow, to, expected) => {
    expect(focusAfter(columns, { column: from, key }, arrow)).toEqual({ column: to, key: expected });
  });
});

test.each([
  ['2026-03-29', berlin],
  ['2026-10-25', berlin],
  ['2026-11-01', berlin],
  ['2026-04-24', 'Africa/Cairo'],
])('the hours of %s in %s stand beside those of other days', (day, timeZone) => {
  const place = besideOthers(day, timeZone);
  const { start } = intervalOf(day, timeZone);
  const hours = ['01:30', '04:00', '09:00', '23:30'];
  expect(hours.map((hour) => (place(instantAt(day, hour, timeZone)) - start) / HOUR)).toEqual([1.5, 4, 9, 23.5]);
});

test('of a time that comes twice the one within the interval is meant', () => {
  const first = Date.parse('2026-10-25T00:30:00Z');
  const half = HOUR / 2;
  const [summer, winter] = [first, first + HOUR].map((start) => ({ start, end: start + half }));
  expect([clockTimeOf(first, berlin), clockTimeOf(first + HOUR, berlin)]).toEqual(['02:30', '02:30']);
  expect(instantWithin(summer ?? { start: 0, end: 0 }, '02:30', berlin)).toBe(first);
  expect(instantWithin(winter ?? { start: 0, end: 0 }, '02:30', berlin)).toBe(first + HOUR);
  const over = { start: first, end: first + 3 * HOUR };
  expect(instantWithin(over, '03:30', berlin)).toBe(first + 2 * HOUR);
  expect(instantWithin(over, '09:00', berlin)).toBe(Date.parse('2026-10-25T08:00:00Z'));
});

test('a date of birth of which only the year or the month is known is shown so', async () => {
  const settings = JSON.stringify({ config: { timeZone: berlin } });
  Object.assign(globalThis, { document: { documentElement: { dataset: { settings } } } });
  const { dateText } = await import('../client/parts/format.ts');
  Reflect.deleteProperty(globalThis, 'document');
  const texts = ['1990', '1990-05', '1990-05-17'].map((date) => dateText(date, 'en'));
  expect(texts).toEqual(['1990', '1990-05', '17 May 1990']);
});
