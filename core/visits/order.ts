/** What the order of steps depends on. */
export interface OrderedStep {
  readonly name: string;
  /** Milliseconds; absent: as long as appointments of the pool are. */
  readonly duration: number | undefined;
  /** Names of the steps that must be over; without any, the step can take place in any order. */
  readonly after: readonly string[];
  /**
   * Shortest and longest time between the step and the end of the one before it: the last of those that it comes after; if
   * it can take place in any order, whichever is before it.
   */
  readonly gapMin: number;
  readonly gapMax: number;
}

/** How many orders of steps are looked at to find out whether one is possible; with more, it counts as possible. */
const MAX_ORDERS = 50_000;

/** Shorter appointments than a minute are not possible. */
const SHORTEST = 60_000;

/** `to` starts at least `length` after `from` does; both are positions in an order. */
interface Distance {
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

/** Whether there are times that keep all distances: no circle of them is longer than nothing (Bellman and Ford). */
function isPossible(count: number, distances: readonly Distance[]): boolean {
  const earliest = Array.from({ length: count }, () => 0);
  for (let round = 0; round <= count; round++) {
    let isChanged = false;
    for (const { from, to, length } of distances) {
      const start = (earliest[from] ?? 0) + length;
      if (start > (earliest[to] ?? 0)) {
        earliest[to] = start;
        isChanged = true;
      }
    }
    if (!isChanged) {
      return true;
    }
  }
  return false;
}

/** The steps of an order from whose end the gap of a step after them counts: the last that it waits for, or the last. */
export function stepBefore<T extends OrderedStep>(step: OrderedStep, before: readonly T[]): T | undefined {
  return step.after.length > 0 ? before.findLast(({ name }) => step.after.includes(name)) : before.at(-1);
}

/** What an order of steps demands of their starts. */
function distancesOf(order: readonly OrderedStep[]): Distance[] {
  return order.flatMap((step, to): Distance[] => {
    const earlier = order.slice(0, to);
    const previous = stepBefore(step, earlier);
    const from = previous ? earlier.indexOf(previous) : -1;
    const lengthOf = (index: number): number => order[index]?.duration ?? SHORTEST;
    const apart = to === 0 ? [] : [{ from: to - 1, to, length: lengthOf(to - 1) }];
    const least = from < 0 ? [] : [{ from, to, length: lengthOf(from) + step.gapMin }];
    const most =
      from < 0 || step.gapMax === Number.POSITIVE_INFINITY
        ? []
        : [{ from: to, to: from, length: -(lengthOf(from) + step.gapMax) }];
    return [...apart, ...least, ...most];
  });
}

/**
 * Whether steps can follow one another at all, if everything is free: in one order at least, all gaps can be kept while no
 * two steps overlap.
 */
export function canFollow(steps: readonly OrderedStep[]): boolean {
  let looked = 0;
  const extend = (order: readonly OrderedStep[]): boolean => {
    looked++;
    if (looked > MAX_ORDERS || order.length === steps.length) {
      return true;
    }
    const placed = order.map(({ name }) => name);
    const isNext = ({ name, after }: OrderedStep): boolean =>
      !placed.includes(name) && after.every((one) => placed.includes(one));
    return steps
      .filter(isNext)
      .map((step) => [...order, step])
      .some((longer) => isPossible(longer.length, distancesOf(longer)) && extend(longer));
  };
  return extend([]);
}
