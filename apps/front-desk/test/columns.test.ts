import { describe, expect, test } from '@jest/globals';
import type { Schedule, Slot } from '@medplum/fhirtypes';
import { columnsOf, layoutOf, withoutPast } from '../day/columns.ts';
import { calendarData } from '../day/entries.ts';

const HOUR = 3_600_000;
const zone = 'Europe/Berlin';
const schedules: Schedule[] = ['s', 't'].map((id) => ({ resourceType: 'Schedule', id, actor: [{ display: id }] }));
/** The Sunday is the one on which the clocks go back. */
const days = ['2027-10-30', '2027-10-31'];

const slot = (id: string, schedule: string, start: string, status: Slot['status'] = 'free'): Slot => ({
  resourceType: 'Slot',
  id,
  schedule: { reference: `Schedule/${schedule}` },
  status,
  start,
  end: new Date(Date.parse(start) + HOUR / 2).toISOString(),
});

const data = calendarData([
  slot('1', 's', '2027-10-30T07:00:00Z'),
  slot('2', 's', '2027-10-30T08:00:00Z', 'busy'),
  slot('3', 't', '2027-10-31T08:00:00Z'),
  // Half past midnight in Berlin.
  slot('4', 't', '2027-10-30T22:30:00Z'),
]);
const columns = columnsOf(schedules, days, data, zone);

describe('columns', () => {
  test('are the calendars of the first day, then those of the next', () => {
    expect(columns.map(({ id, entries }) => [id, entries.map(({ key }) => key)])).toEqual([
      ['column-2027-10-30-s', ['Slot/1', 'Slot/2']],
      ['column-2027-10-30-t', []],
      ['column-2027-10-31-s', []],
      ['column-2027-10-31-t', ['Slot/4', 'Slot/3']],
    ]);
  });

  test('lose the free times that are over, and those without any stay the same objects', () => {
    const later = withoutPast(columns, Date.parse('2027-10-30T12:00:00Z'));
    expect(later[0]?.entries.map(({ key }) => key)).toEqual(['Slot/2']);
    expect(later.slice(1).every((column, index) => column === columns[index + 1])).toBe(true);
  });

  test('begin and end at the same hour on each day, also when an hour comes twice', () => {
    const { shown, height, scale } = layoutOf(columns, days, zone);
    const [first, second] = days.map((day) => shown.get(day));
    expect(first).toEqual({ start: Date.parse('2027-10-29T22:00:00Z'), end: Date.parse('2027-10-30T16:00:00Z') });
    expect(second).toEqual({ start: Date.parse('2027-10-30T22:00:00Z'), end: Date.parse('2027-10-31T16:00:00Z') });
    expect(height).toBeCloseTo(18 * 60 * scale);
  });
});
