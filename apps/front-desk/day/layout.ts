import type { Interval } from '../../../core/time/interval.ts';

interface Placed<T extends Interval> {
  readonly item: T;
  readonly lane: number;
  readonly lanes: number;
}

/** Distributes items, sorted by start, to lanes. Each group of overlapping items has as many lanes as it needs. */
export function inLanes<T extends Interval>(items: readonly T[]): Placed<T>[] {
  const placed: Placed<T>[] = [];
  let group: { item: T; lane: number }[] = [];
  let ends: number[] = [];
  const close = (): void => {
    placed.push(...group.map(({ item, lane }) => ({ item, lane, lanes: ends.length })));
    group = [];
    ends = [];
  };
  for (const item of items) {
    if (ends.every((end) => end <= item.start)) {
      close();
    }
    const free = ends.findIndex((end) => end <= item.start);
    const lane = free < 0 ? ends.length : free;
    ends[lane] = item.end;
    group.push({ item, lane });
  }
  close();
  return placed;
}

const HOUR = 3_600_000;
const MINUTE = 60_000;

/** The hours that are always shown: from eight to six. */
const USUAL = { from: 8 * HOUR, to: 18 * HOUR };

/** The visible part of a day (midnight to midnight) in full hours: the usual hours, extended to all entries. */
export function shownHours(day: Interval, items: readonly Interval[]): Interval {
  const within = items
    .map(({ start, end }) => ({ start: Math.max(start, day.start), end: Math.min(end, day.end) }))
    // Entries of 16 hours or more, such as a closed day, do not extend the visible hours.
    .filter(({ start, end }) => start < end && end - start < 16 * HOUR);
  const from = Math.min(day.start + USUAL.from, ...within.map(({ start }) => start));
  const to = Math.max(day.start + USUAL.to, ...within.map(({ end }) => end));
  return {
    start: day.start + Math.floor((from - day.start) / HOUR) * HOUR,
    end: Math.min(day.end, day.start + Math.ceil((to - day.start) / HOUR) * HOUR),
  };
}

/** Minimum height of a readable touch target, in pixels. */
const TARGET = 26;

/** The number of pixels per minute that makes the shortest entry readable and touchable. */
export function pixelsPerMinute(items: readonly Interval[]): number {
  const shortest = Math.min(...items.map(({ start, end }) => (end - start) / MINUTE), 30);
  return Math.min(5, Math.max(1.2, TARGET / Math.max(shortest, 1)));
}

/** The full hours of an interval, beginning with its start. */
export function hoursOf({ start, end }: Interval): number[] {
  return Array.from({ length: Math.ceil((end - start) / HOUR) }, (_, index) => start + index * HOUR);
}
