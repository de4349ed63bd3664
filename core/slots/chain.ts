import type { Interval } from '../time/interval.ts';

/**
 * Finds slots of one Schedule that cover an interval without gaps or overlaps, in order of time; `undefined` if there
 * are none. Each begins where the one before ends; only the first may begin earlier. Short slots are tried first.
 */
export function findChain<T extends Interval>(slots: readonly T[], interval: Interval): T[] | undefined {
  const latestStartFirst = [...slots].sort((a, b) => b.start - a.start || a.end - b.end);
  const deadEnds = new Set<number>();
  const chainFrom = (moment: number): T[] | undefined => {
    if (moment >= interval.end) {
      return [];
    }
    if (deadEnds.has(moment)) {
      return undefined;
    }
    const isFirst = moment === interval.start;
    for (const slot of latestStartFirst) {
      const fits = isFirst ? slot.start <= moment && moment < slot.end : slot.start === moment;
      const rest = fits ? chainFrom(slot.end) : undefined;
      if (rest) {
        return [slot, ...rest];
      }
    }
    deadEnds.add(moment);
    return undefined;
  };
  return chainFrom(interval.start);
}

/** A mismatch between the slots and the time of a request. */
export type Mismatch = { readonly kind: 'outside' | 'overlap'; readonly id: string } | { readonly kind: 'gap' };

/**
 * Compares the slots of a request (of one Schedule) with its time. Each slot must contribute to it, none may overlap
 * another, and together they must leave no gap.
 */
export function mismatches(slots: readonly (Interval & { readonly id: string })[], interval: Interval): Mismatch[] {
  const sorted = [...slots].sort((a, b) => a.start - b.start);
  const outside = sorted.filter(({ start, end }) => end <= interval.start || start >= interval.end);
  const inside = sorted.filter((slot) => !outside.includes(slot));
  const overlapping = inside.filter(({ start }, index) => start < (inside[index - 1]?.end ?? start));
  let covered = interval.start;
  for (const { start, end } of inside) {
    covered = start <= covered ? Math.max(covered, end) : covered;
  }
  return [
    ...outside.map(({ id }): Mismatch => ({ kind: 'outside', id })),
    ...overlapping.map(({ id }): Mismatch => ({ kind: 'overlap', id })),
    ...(covered < interval.end ? [{ kind: 'gap' } as const] : []),
  ];
}
