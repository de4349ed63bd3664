import type { Schedule } from '@medplum/fhirtypes';
import { type Interval, overlaps } from '../../../core/time/interval.ts';
import { besideOthers, intervalOf, type LocalDay } from '../../../core/time/local-day.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { type CalendarData, type Entry, entriesOf } from './entries.ts';
import { pixelsPerMinute, shownHours } from './layout.ts';

interface ColumnData {
  /** Stable for a calendar and day. */
  readonly id: string;
  readonly schedule: Schedule;
  readonly day: LocalDay;
  /** Sorted by time. */
  readonly entries: readonly Entry[];
}

/** The columns of some calendars on some days, all calendars of the first day first. */
export function columnsOf(
  schedules: readonly Schedule[],
  days: readonly LocalDay[],
  data: CalendarData,
  timeZone: string,
): ColumnData[] {
  const all = schedules.map((schedule) => ({ schedule, entries: entriesOf(schedule, data) }));
  return days.flatMap((day) => {
    const time = intervalOf(day, timeZone);
    return all.map(({ schedule, entries }) => ({
      id: `column-${day}-${schedule.id}`,
      schedule,
      day,
      entries: entries.filter((entry) => overlaps(entry, time)),
    }));
  });
}

const isUseful = ({ kind, end }: Entry, now: number): boolean => kind !== 'free' || end > now;

/** The columns without free times before `now` (in milliseconds). An unchanged column stays the same object. */
export const withoutPast = (columns: readonly ColumnData[], now: number): ColumnData[] =>
  columns.map((column) =>
    column.entries.every((entry) => isUseful(entry, now))
      ? column
      : { ...column, entries: column.entries.filter((entry) => isUseful(entry, now)) },
  );

/** The layout of columns beside each other. Times are milliseconds since 1970 UTC. */
interface CalendarLayout {
  /** The visible part of each day. All begin and end at the same hour. */
  readonly shown: ReadonlyMap<LocalDay, Interval>;
  /** Pixels per minute. */
  readonly scale: number;
  /** Height of a column, in pixels. */
  readonly height: number;
}

/** The common hours and scale of all columns. */
export function layoutOf(columns: readonly ColumnData[], days: readonly LocalDay[], timeZone: string): CalendarLayout {
  const isWeek = days.length > 1;
  const ofDay = days.map((day) => {
    const { start, end } = intervalOf(day, timeZone);
    const project = besideOthers(day, timeZone);
    const entries = columns.filter((column) => column.day === day).flatMap((column) => column.entries);
    const placed = isWeek
      ? entries.map((entry) => ({ start: project(entry.start), end: project(entry.end) }))
      : entries;
    const time = { start, end: isWeek ? start + DAY : end };
    return { day, time, shown: shownHours(time, placed) };
  });
  const from = Math.min(...ofDay.map(({ time, shown }) => shown.start - time.start));
  const to = Math.max(...ofDay.map(({ time, shown }) => shown.end - time.start));
  const scale = pixelsPerMinute(columns.flatMap(({ entries }) => entries.filter(({ kind }) => kind !== 'buffer')));
  return {
    scale,
    height: ((to - from) / 60_000) * scale,
    shown: new Map(
      ofDay.map(({ day, time }) => [day, { start: time.start + from, end: Math.min(time.start + to, time.end) }]),
    ),
  };
}
