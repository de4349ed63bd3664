import type { Buffers } from '../slots/terms.ts';
import type { Interval } from '../time/interval.ts';
import { DAY } from '../time/time-zone.ts';
import { bufferBetween, stepsWith } from './check.ts';
import { stepBefore, type VisitStep } from './visit.ts';

/** A Schedule that can fill a role of a step at some time. */
export interface CandidateSchedule {
  /** Id of the Schedule. */
  readonly schedule: string;
  /** Lower ranks are preferred. */
  readonly rank: number;
  /** The lane whose time it takes; buffers hold within a lane. */
  readonly lane: string | undefined;
  /** Ids of the Slots that it takes. */
  readonly slots: readonly string[];
  readonly buffers: Buffers;
}

/** A time at which a step can take place. */
export interface CandidateTime extends Interval {
  /** The candidate Schedules of each role, by rank; no role is empty. */
  readonly roles: readonly (readonly CandidateSchedule[])[];
}

export interface OpenStep extends VisitStep {
  /** By start, then by end, without duplicates. */
  readonly openings: readonly CandidateTime[];
  /** All candidate times that start before this moment are known; later there may be others. */
  readonly knownUntil: number;
  /** Bounds of its length, in milliseconds. */
  readonly shortest: number;
  readonly longest: number;
}

/** A step with its time and the Schedules of its roles. */
export interface Placed extends Interval {
  readonly step: string;
  readonly candidates: readonly CandidateSchedule[];
}

/** The steps of one visit in the order of time. */
export type Proposal = readonly Placed[];

type Found =
  | { readonly kind: 'proposal'; readonly proposal: Proposal }
  /** More candidate times of these steps, by their indexes, must be read. Earlier starts than `from` are useless. */
  | { readonly kind: 'more'; readonly steps: readonly number[]; readonly from: number }
  | { readonly kind: 'end' };

/**
 * A computation that yields when `isDue` is true, so that other work can run. The caller resumes it, or drops it if it
 * has taken too long.
 */
export type Computation<T> = Generator<undefined, T>;

/** A partial visit: the steps placed so far, in the order of time. */
interface PartialVisit {
  /** Bits of the indexes of the placed steps. */
  readonly mask: number;
  readonly order: readonly number[];
  /** The ends of the placed steps, by index. */
  readonly ends: readonly number[];
}

const nowhere: PartialVisit = { mask: 0, order: [], ends: [] };

/** The lowest index of an interval that starts at a time or later. The intervals must be ordered by start. */
export function firstFrom(openings: readonly Interval[], time: number): number {
  let [low, high] = [0, openings.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((openings[middle]?.start ?? 0) < time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

class Search {
  private readonly steps: readonly OpenStep[];
  private readonly isDue: () => boolean;
  /** For each step the bits of its `after` steps. */
  private readonly needs: readonly number[];
  private readonly all: number;
  private readonly bounds = new Map<string, number>();

  constructor(steps: readonly OpenStep[], isDue: () => boolean) {
    this.steps = steps;
    this.isDue = isDue;
    this.all = (1 << steps.length) - 1;
    this.needs = steps.map(({ after }) =>
      steps.reduce((mask, { name }, index) => (after.includes(name) ? mask | (1 << index) : mask), 0),
    );
  }

  private leastLeft(mask: number): number {
    return this.steps.reduce((sum, { shortest }, index) => (mask & (1 << index) ? sum : sum + shortest), 0);
  }

  /** The indexes of the steps that can come next. */
  private next({ mask }: PartialVisit): number[] {
    return this.steps.flatMap((_, index) => {
      const isOpen = !(mask & (1 << index)) && (mask & (this.needs[index] ?? 0)) === this.needs[index];
      return isOpen ? [index] : [];
    });
  }

  private range(index: number, { order, ends }: PartialVisit): readonly [earliest: number, latest: number] {
    const step = this.steps[index];
    const placed = order.map((one) => ({ ...this.steps[one], index: one }));
    const last = ends[order.at(-1) ?? -1];
    if (!step || last === undefined) {
      return [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
    }
    const before = stepBefore(step, placed as (OpenStep & { index: number })[]);
    const end = before && ends[before.index];
    return end === undefined
      ? [last, Number.POSITIVE_INFINITY]
      : [Math.max(last, end + step.gapMin), end + step.gapMax];
  }

  /** The memo key of `bound`: the state on which the remaining steps depend. */
  private keyOf({ mask, order, ends }: PartialVisit): string {
    const gaps = this.steps.map(({ after, gapMin, gapMax, name }, index) => {
      const isFree = mask & (1 << index) || after.length === 0 || (gapMin === 0 && gapMax === Number.POSITIVE_INFINITY);
      const last = isFree ? undefined : order.findLast((one) => after.includes(this.steps[one]?.name ?? name));
      return last === undefined ? '' : ends[last];
    });
    return `${mask} ${ends[order.at(-1) ?? -1]} ${gaps.join(' ')}`;
  }

  private after(index: number, { end }: Interval, { mask, order, ends }: PartialVisit): PartialVisit {
    const all = [...ends];
    all[index] = end;
    return { mask: mask | (1 << index), order: [...order, index], ends: all };
  }

  /**
   * A lower bound for the end of the visit. It assumes that all unknown time is free, and ignores the Schedules of the
   * roles.
   */
  private *bound(partial: PartialVisit): Computation<number> {
    if (partial.mask === this.all) {
      return partial.ends[partial.order.at(-1) ?? 0] ?? Number.POSITIVE_INFINITY;
    }
    const key = this.keyOf(partial);
    const known = this.bounds.get(key);
    if (known !== undefined) {
      return known;
    }
    const least = this.leastLeft(partial.mask);
    let best = Number.POSITIVE_INFINITY;
    for (const index of this.next(partial)) {
      const step = this.steps[index];
      const [earliest, latest] = this.range(index, partial);
      for (let at = firstFrom(step?.openings ?? [], earliest); step && at < step.openings.length; at++) {
        const opening = step.openings[at];
        if (!opening || opening.start > latest || opening.start + least >= best) {
          break;
        }
        if (this.isDue()) {
          yield;
        }
        best = Math.min(best, yield* this.bound(this.after(index, opening, partial)));
      }
      const start = Math.max(earliest, step?.knownUntil ?? 0);
      if (step && start <= latest && start + least < best) {
        best = Math.min(best, yield* this.bound(this.after(index, { start, end: start + step.shortest }, partial)));
      }
    }
    this.bounds.set(key, best);
    return best;
  }

  /**
   * The assignments of Schedules to the roles of a step that are compatible with the placed steps, in the order of
   * their ranks.
   */
  private *assignments(
    index: number,
    opening: CandidateTime,
    placed: Proposal,
  ): Generator<readonly CandidateSchedule[]> {
    const step = this.steps[index];
    const isApart = (candidate: CandidateSchedule): boolean =>
      placed.every(({ end, candidates }) =>
        candidates.every(
          (candidateSchedule) =>
            candidateSchedule.schedule !== candidate.schedule ||
            candidateSchedule.lane !== candidate.lane ||
            opening.start - end >= bufferBetween(candidateSchedule.buffers, candidate.buffers),
        ),
      );
    const linked = placed.filter(
      (one) =>
        one.step === step?.sameAs || this.steps.some(({ name, sameAs }) => name === one.step && sameAs === step?.name),
    );
    const isSame = (candidate: CandidateSchedule): boolean =>
      linked.every(({ candidates: [own] }) => own?.schedule === candidate.schedule);
    function* fill(role: number, candidates: readonly CandidateSchedule[]): Generator<readonly CandidateSchedule[]> {
      const all = opening.roles[role];
      if (!all) {
        yield candidates;
        return;
      }
      for (const candidate of all) {
        const isOther = candidates.every(({ schedule }) => schedule !== candidate.schedule);
        if (isOther && isApart(candidate) && (role > 0 || isSame(candidate))) {
          yield* fill(role + 1, [...candidates, candidate]);
        }
      }
    }
    yield* fill(0, []);
  }

  /** The candidate times of the next step, by start, then by step; those of one step by end. */
  private *candidates(
    partial: PartialVisit,
    isWorth: (start: number) => boolean,
  ): Generator<readonly [number, CandidateTime]> {
    const cursors = this.next(partial).map((index) => {
      const [earliest, latest] = this.range(index, partial);
      const openings = this.steps[index]?.openings ?? [];
      return { index, openings, at: firstFrom(openings, earliest), latest };
    });
    for (;;) {
      const open = cursors.filter(
        ({ openings, at, latest }) => (openings[at]?.start ?? Number.POSITIVE_INFINITY) <= latest,
      );
      const [first] = open.toSorted(
        (one, other) =>
          (one.openings[one.at]?.start ?? 0) - (other.openings[other.at]?.start ?? 0) || one.index - other.index,
      );
      const opening = first?.openings[first.at];
      if (!first || !opening || !isWorth(opening.start)) {
        return;
      }
      first.at++;
      yield [first.index, opening];
    }
  }

  /** The first of the most compact visits that start with a candidate time; only one that ends before `most`. */
  private *best(index: number, opening: CandidateTime, most: number): Computation<Proposal | undefined> {
    const search = this;
    let found: Proposal | undefined;
    const endOf = (): number => found?.at(-1)?.end ?? most;
    function* place(next: number, at: CandidateTime, partial: PartialVisit, placed: Proposal): Computation<void> {
      const { start, end } = at;
      const following = search.after(next, at, partial);
      for (const candidates of search.assignments(next, at, placed)) {
        if (search.isDue()) {
          yield;
        }
        if ((yield* search.bound(following)) >= endOf()) {
          return;
        }
        yield* extend(following, [...placed, { start, end, step: search.steps[next]?.name ?? '', candidates }]);
      }
    }
    function* extend(partial: PartialVisit, placed: Proposal): Computation<void> {
      if (partial.mask === search.all) {
        found = placed;
        return;
      }
      const least = search.leastLeft(partial.mask);
      for (const [next, at] of search.candidates(partial, (start) => start + least < endOf())) {
        yield* place(next, at, partial, placed);
      }
    }
    yield* place(index, opening, nowhere, []);
    return found;
  }

  /**
   * The next possible starts of a visit: the first known candidate time, and the moment from which unknown ones may
   * exist.
   */
  nextStart(from: number): { readonly known: number; readonly unknown: number } {
    const first = this.next(nowhere).flatMap((index) => this.steps[index] ?? []);
    const starts = first.map(({ openings }) => openings[firstFrom(openings, from)]?.start ?? Number.POSITIVE_INFINITY);
    return {
      known: Math.min(...starts),
      unknown: Math.max(from, Math.min(...first.map(({ knownUntil }) => knownUntil))),
    };
  }

  /** Whether only one order of the steps is possible. */
  private isChain(): boolean {
    let partial = nowhere;
    for (let [index, other] = this.next(partial); index !== undefined; [index, other] = this.next(partial)) {
      if (other !== undefined) {
        return false;
      }
      partial = this.after(index, { start: 0, end: 0 }, partial);
    }
    return true;
  }

  /**
   * The most compact visit that starts at a time.
   * @returns `isCertain` if unknown candidate times cannot change the result
   */
  *startingAt(start: number): Computation<{ readonly proposal: Proposal | undefined; readonly isCertain: boolean }> {
    let proposal: Proposal | undefined;
    let bound = Number.POSITIVE_INFINITY;
    for (const index of this.next(nowhere)) {
      const openings = this.steps[index]?.openings ?? [];
      for (let at = firstFrom(openings, start); openings[at]?.start === start; at++) {
        const opening = openings[at];
        if (opening) {
          bound = Math.min(bound, yield* this.bound(this.after(index, opening, nowhere)));
          const most = proposal?.at(-1)?.end ?? Number.POSITIVE_INFINITY;
          proposal = (yield* this.best(index, opening, most)) ?? proposal;
        }
      }
    }
    const end = proposal?.at(-1)?.end ?? Number.POSITIVE_INFINITY;
    const isKnown = this.steps.every(({ knownUntil }) => knownUntil >= end);
    return { proposal, isCertain: isKnown || (bound >= end && (!proposal || this.isChain())) };
  }

  /** The longest possible time from the start to the end of a visit. */
  longestSpan(): number {
    const gaps = this.next(nowhere).map((first) =>
      this.steps.reduce((sum, { gapMax }, index) => (index === first ? sum : sum + gapMax), 0),
    );
    return this.steps.reduce((sum, { longest }) => sum + longest, Math.max(...gaps));
  }
}

/** The sets of steps that make up a visit: first with all optional steps, then with fewer of them. */
function variants(steps: readonly OpenStep[]): OpenStep[][] {
  const optional = steps.flatMap(({ isOptional, name }) => (isOptional ? [name] : []));
  const sets = Array.from({ length: 1 << optional.length }, (_, bits) =>
    optional.filter((_name, index) => bits & (1 << index)),
  );
  return sets
    .toSorted((one, other) => one.length - other.length)
    .map((left) => stepsWith(steps, (name) => !left.includes(name)));
}

/** The indexes of the steps whose candidate times are known least far. */
function leastKnown(steps: readonly OpenStep[], until: number): number[] {
  const least = Math.min(...steps.map(({ knownUntil }) => knownUntil));
  return steps.flatMap(({ knownUntil }, index) => (knownUntil < until && knownUntil < least + DAY ? [index] : []));
}

/**
 * The earliest possible start of a visit. The step with the latest first time decides, because the other steps are near
 * to it.
 */
function earliestStart(steps: readonly OpenStep[], from: number, span: number): number {
  const earliest = steps
    .filter(({ isOptional }) => !isOptional)
    .map(({ openings, knownUntil }) =>
      Math.min(knownUntil, openings[firstFrom(openings, from)]?.start ?? Number.POSITIVE_INFINITY),
    );
  const latest = Math.max(...earliest);
  return latest === Number.POSITIVE_INFINITY ? latest : Math.max(from, latest - span);
}

/**
 * Searches for visits: for each possible start the most compact one, the earliest first. Ties are broken by the starts
 * of the steps, then by the order of the steps, then by the ranks of the Schedules. Optional steps are left out where
 * they do not fit.
 * @param steps - all steps of the visit; the search asks for unknown candidate times when they matter
 * @param isDue - whether the search should yield
 * @returns a function that finds the next visit from a time on
 */
export function searchVisits(steps: readonly OpenStep[], isDue: () => boolean): (from: number) => Computation<Found> {
  const searches = variants(steps).map((openSteps) => new Search(openSteps, isDue));
  const span = Math.max(...searches.map((search) => search.longestSpan()));
  return function* findFrom(from: number): Computation<Found> {
    for (let time = from; ; ) {
      time = earliestStart(steps, time, span);
      const next = searches.map((search) => search.nextStart(time));
      const known = Math.min(...next.map((one) => one.known));
      const unknown = Math.min(...next.map((one) => one.unknown));
      if (time === Number.POSITIVE_INFINITY || (known === Number.POSITIVE_INFINITY && unknown === known)) {
        return { kind: 'end' };
      }
      if (unknown <= known) {
        return { kind: 'more', steps: leastKnown(steps, Number.POSITIVE_INFINITY), from: time };
      }
      for (const search of searches) {
        const { proposal, isCertain } = yield* search.startingAt(known);
        if (!isCertain) {
          return {
            kind: 'more',
            steps: leastKnown(steps, proposal?.at(-1)?.end ?? Number.POSITIVE_INFINITY),
            from: known,
          };
        }
        if (proposal) {
          return { kind: 'proposal', proposal };
        }
      }
      time = known + 1;
    }
  };
}
