import type { Interval } from '../../../core/time/interval.ts';

/** Where something stands in a column: beside what overlaps it, in one of several lanes. */
interface Placed<T extends Interval> {
  readonly item: T;
  /** 0 is the first. */
  readonly lane: number;
  /** How many lanes stand beside each other there. */
  readonly lanes: number;
}

/**
 * Puts what overlaps beside each other. Each group of things that overlap shares as many lanes as it needs.
 *
 * @param items - in the order of their starts
 */
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

/** The hours that are shown where nothing else has to be: from eight to six. */
const USUAL = { from: 8 * HOUR, to: 18 * HOUR };

/**
 * The part of a day that is shown: the usual hours, and all that lies outside them, in full hours.
 *
 * @param day - from midnight to midnight
 * @param items - what stands in the columns; what reaches beyond the day is cut
 */
export function shownHours(day: Interval, items: readonly Interval[]): Interval {
  const within = items
    .map(({ start, end }) => ({ start: Math.max(start, day.start), end: Math.min(end, day.end) }))
    // A closed day takes the whole day, and needs no room for that.
    .filter(({ start, end }) => start < end && end - start < 16 * HOUR);
  const from = Math.min(day.start + USUAL.from, ...within.map(({ start }) => start));
  const to = Math.max(day.start + USUAL.to, ...within.map(({ end }) => end));
  return {
    start: day.start + Math.floor((from - day.start) / HOUR) * HOUR,
    end: Math.min(day.end, day.start + Math.ceil((to - day.start) / HOUR) * HOUR),
  };
}

/** The smallest height that fingers and eyes need, in pixels. */
const TARGET = 26;

/** How many pixels a minute takes, so that the shortest thing can still be read and touched. */
export function pixelsPerMinute(items: readonly Interval[]): number {
  const shortest = Math.min(...items.map(({ start, end }) => (end - start) / MINUTE), 30);
  return Math.min(5, Math.max(1.2, TARGET / Math.max(shortest, 1)));
}

/** The full hours of an interval, the first included. */
export function hoursOf({ start, end }: Interval): number[] {
  return Array.from({ length: Math.ceil((end - start) / HOUR) }, (_, index) => start + index * HOUR);
}
