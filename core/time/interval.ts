/** A period of time: `start` belongs to it, `end` does not. Both in milliseconds since 1970 UTC. */
export interface Interval {
  readonly start: number;
  readonly end: number;
}

/** Whether two intervals overlap; adjacent ones do not. */
export function overlaps(one: Interval, other: Interval): boolean {
  return one.start < other.end && other.start < one.end;
}

/** Whether `inner` lies completely within `outer`. */
export function contains(outer: Interval, inner: Interval): boolean {
  return outer.start <= inner.start && inner.end <= outer.end;
}

/** The intersection of two intervals, or `undefined` if they do not overlap. */
export function intersection(one: Interval, other: Interval): Interval | undefined {
  return overlaps(one, other)
    ? { start: Math.max(one.start, other.start), end: Math.min(one.end, other.end) }
    : undefined;
}
