/** The properties of a step that its order depends on. */
export interface OrderedStep {
  readonly name: string;
  /** In milliseconds; absent if the appointments of the pool decide. */
  readonly duration: number | undefined;
  /** Names of the steps that must be over; without any, the step can take place in any order. */
  readonly after: readonly string[];
  /**
   * Shortest and longest time between the step and the end of the one before it, in milliseconds. The one before is the
   * last step in `after`; without any, the previous step in time.
   */
  readonly gapMin: number;
  readonly gapMax: number;
}

/** The most orders of steps that are tried. With more, a possible one is assumed. */
const MAX_ORDERS = 50_000;

/** The minimum length of an appointment, in milliseconds. */
const SHORTEST = 60_000;

/** `to` starts at least `length` after `from` does; both are positions in an order. */
interface Distance {
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

/** Whether there are times that keep all distances: no cycle of them has a positive length (Bellman and Ford). */
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

/** The step before a step, from whose end its gap counts: the last one in `after`; without any, the previous one. */
export function stepBefore<T extends OrderedStep>(step: OrderedStep, before: readonly T[]): T | undefined {
  return step.after.length > 0 ? before.findLast(({ name }) => step.after.includes(name)) : before.at(-1);
}

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
 * Whether a visit is possible if all time is free: in at least one order, all gaps can be kept while no two steps
 * overlap.
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
