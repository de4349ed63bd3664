import type { Interval } from './interval.ts';

/** Periods in order, none of which touches or overlaps another. */
export type IntervalSet = readonly Interval[];

/** The union of periods, in any order and however they overlap; empty ones are left out. */
export function union(intervals: readonly Interval[]): IntervalSet {
  const sorted = intervals.filter(({ start, end }) => start < end).sort((a, b) => a.start - b.start);
  const result: Interval[] = [];
  for (const interval of sorted) {
    const last = result.at(-1);
    if (last && interval.start <= last.end) {
      result[result.length - 1] = { start: last.start, end: Math.max(last.end, interval.end) };
    } else {
      result.push(interval);
    }
  }
  return result;
}

/** Each period of one set, with the periods of another that overlap it. */
function* overlapping(one: IntervalSet, other: IntervalSet): Generator<[Interval, Interval[]]> {
  let first = 0;
  for (const interval of one) {
    const found: Interval[] = [];
    for (let index = first; index < other.length; index++) {
      const candidate = other[index];
      if (!candidate || candidate.start >= interval.end) {
        break;
      }
      if (candidate.end <= interval.start) {
        first = index + 1;
      } else {
        found.push(candidate);
      }
    }
    yield [interval, found];
  }
}

/** The time that two sets have in common. */
export function intersect(one: IntervalSet, other: IntervalSet): IntervalSet {
  return [...overlapping(one, other)].flatMap(([{ start, end }, found]) =>
    found.map((interval) => ({ start: Math.max(start, interval.start), end: Math.min(end, interval.end) })),
  );
}

/** The time of one set that does not belong to the other. */
export function subtract(whole: IntervalSet, parts: IntervalSet): IntervalSet {
  return [...overlapping(whole, parts)].flatMap(([{ start, end }, found]) => {
    const starts = [start, ...found.map((part) => part.end)];
    const ends = [...found.map((part) => part.start), end];
    return starts
      .map((from, index) => ({ start: from, end: ends[index] ?? from }))
      .filter((rest) => rest.start < rest.end);
  });
}

/** Whether a period lies completely within the set. */
export function covers(set: IntervalSet, { start, end }: Interval): boolean {
  return set.some((interval) => interval.start <= start && end <= interval.end);
}
