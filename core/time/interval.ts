/** A period of time: `start` belongs to it, `end` does not. Both in milliseconds since 1970 UTC. */
export interface Interval {
  readonly start: number;
  readonly end: number;
}

/** Whether two intervals overlap; adjacent ones do not. */
export function overlaps(interval: Interval, other: Interval): boolean {
  return interval.start < other.end && other.start < interval.end;
}

/** Whether `inner` lies completely within `outer`. */
export function contains(outer: Interval, inner: Interval): boolean {
  return outer.start <= inner.start && inner.end <= outer.end;
}

/** The intersection of two intervals, or `undefined` if they do not overlap. */
export function intersection(interval: Interval, other: Interval): Interval | undefined {
  return overlaps(interval, other)
    ? { start: Math.max(interval.start, other.start), end: Math.min(interval.end, other.end) }
    : undefined;
}

/** Periods in order that neither touch nor overlap. */
export type IntervalSet = readonly Interval[];

/** The union of periods in any order; empty ones are left out. */
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

/** Each interval with the intervals of the other set that overlap it. */
function* overlapping(intervals: IntervalSet, other: IntervalSet): Generator<[Interval, Interval[]]> {
  let first = 0;
  for (const interval of intervals) {
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
export function intersect(intervals: IntervalSet, other: IntervalSet): IntervalSet {
  return [...overlapping(intervals, other)].flatMap(([{ start, end }, found]) =>
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
