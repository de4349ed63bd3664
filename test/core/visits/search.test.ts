import { describe, expect, test } from '@jest/globals';
import { stepsWith } from '../../../core/visits/check.ts';
import {
  type CandidateSchedule,
  type CandidateTime,
  type OpenStep,
  type Proposal,
  searchVisits,
} from '../../../core/visits/search.ts';
import { randomOf } from '../../../packages/conformance/attack/network.ts';

/** Whole numbers that look random, the same for the same seed. */
function randomly(seed: number): (below: number) => number {
  const random = randomOf(seed);
  return (below) => Math.floor(random() * below);
}

const NEVER = Number.POSITIVE_INFINITY;

/** A case of two or three steps in a day of eight hours, with rooms that are free here and there. */
function someSteps(seed: number): OpenStep[] {
  const below = randomly(seed);
  const rooms = Array.from({ length: 1 + below(3) }, (_, room) => ({
    schedule: `room-${room}`,
    buffers: { before: below(2), after: below(2) },
  }));
  const names = ['A', 'B', 'C'].slice(0, 2 + below(2));
  return names.map((name, index): OpenStep => {
    const length = 1 + below(3);
    const roles = below(4) === 0 ? 2 : 1;
    const earlier = names.slice(0, index).filter(() => below(2) === 0);
    const gapMin = below(3) === 0 ? below(3) : 0;
    // Every second clinic has two places in each room, which are free in turn.
    const candidate = (rank: number, start: number): CandidateSchedule => ({
      schedule: rooms[rank]?.schedule ?? '',
      rank,
      lane: seed % 2 === 0 ? undefined : `${start % 2}`,
      slots: [],
      buffers: rooms[rank]?.buffers ?? { before: 0, after: 0 },
    });
    const free = (start: number): CandidateSchedule[] =>
      rooms.flatMap((_, rank) => (below(3) > 0 ? [candidate(rank, start)] : []));
    const openings = Array.from(
      { length: 8 },
      (_, start): CandidateTime => ({
        start,
        end: start + length,
        roles: Array.from({ length: roles }, () => free(start)),
      }),
    );
    return {
      name,
      pools: [],
      duration: length,
      after: earlier,
      gapMin,
      gapMax: below(2) === 0 ? gapMin + below(4) : NEVER,
      sameAs: index > 0 && below(4) === 0 ? 'A' : undefined,
      isOptional: index > 0 && below(4) === 0,
      openings: openings.filter(
        ({ roles: all }) => below(4) > 0 && all.every((candidateSchedules) => candidateSchedules.length > 0),
      ),
      knownUntil: NEVER,
      shortest: length,
      longest: length,
    };
  });
}

/** Every way to give each step a time and somebody, good or not. */
function everything(steps: readonly OpenStep[]): Proposal[] {
  const [step, ...others] = steps;
  if (!step) {
    return [[]];
  }
  const own = step.openings.flatMap(({ start, end, roles: [first = [], second] }) =>
    first.flatMap((candidateSchedule) =>
      (second ?? [undefined]).flatMap((other) => ({
        start,
        end,
        step: step.name,
        candidates: other ? [candidateSchedule, other] : [candidateSchedule],
      })),
    ),
  );
  return own.flatMap((placed) => everything(others).map((rest) => [placed, ...rest]));
}

/** Whether a way is a visit, by the words of the definition. */
function isVisit(steps: readonly OpenStep[], placed: Proposal): boolean {
  return placed.every((one, at) => {
    const step = steps.find(({ name }) => name === one.step);
    const before = placed.slice(0, at);
    const last = before.at(-1);
    const previous = step?.after.length ? before.findLast((other) => step.after.includes(other.step)) : last;
    const gap = one.start - (previous?.end ?? 0);
    const shared = before.flatMap((other) =>
      other.candidates.flatMap((theirs) =>
        one.candidates
          .filter((ours) => ours.schedule === theirs.schedule && ours.lane === theirs.lane)
          .map((ours) => one.start - other.end - Math.max(theirs.buffers.after, ours.buffers.before)),
      ),
    );
    const same = placed.find((other) => other.step === step?.sameAs);
    return (
      step?.after.every((name) => before.some((other) => other.step === name)) &&
      (!last || one.start >= last.end) &&
      (!previous || (gap >= step.gapMin && gap <= step.gapMax)) &&
      new Set(one.candidates.map(({ schedule }) => schedule)).size === one.candidates.length &&
      shared.every((distance) => distance >= 0) &&
      (!same || same.candidates[0]?.schedule === one.candidates[0]?.schedule)
    );
  });
}

/** What makes one visit come before another: numbers, the first that differs counts. */
const rankOf = (steps: readonly OpenStep[], left: number, placed: Proposal): number[] => [
  placed[0]?.start ?? 0,
  left,
  placed.at(-1)?.end ?? 0,
  ...placed.flatMap(({ start, end, step, candidates }) => [
    start,
    steps.findIndex(({ name }) => name === step),
    end,
    ...candidates.map(({ rank }) => rank),
  ]),
];

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}

/** All visits, the best for each start, by looking at everything. */
function exhaustive(steps: readonly OpenStep[]): string[] {
  const optional = steps.filter(({ isOptional }) => isOptional).map(({ name }) => name);
  const sets = [[], ...optional.map((name) => [name]), ...(optional.length === 2 ? [optional] : [])];
  const all = sets.flatMap((left, index) => {
    const openSteps = stepsWith(steps, (name) => !left.includes(name));
    return everything(openSteps)
      .map((placed) => placed.toSorted((one, other) => one.start - other.start))
      .filter((placed) => isVisit(openSteps, placed))
      .map((placed) => ({ placed, rank: rankOf(openSteps, index, placed) }));
  });
  const sorted = all.toSorted((one, other) => compare(one.rank, other.rank));
  const best = sorted.filter(({ placed }, index) => placed[0]?.start !== sorted[index - 1]?.placed[0]?.start);
  return best.map(({ placed }) => show(placed));
}

const show = (placed: Proposal): string =>
  placed
    .map(
      ({ step, start, end, candidates }) =>
        `${step} ${start}-${end} ${candidates.map(({ schedule }) => schedule).join('+')}`,
    )
    .join(', ');

/** All visits that the search finds, while the day is told hour by hour where it asks for more. */
function found(steps: readonly OpenStep[], atFirst: number): string[] {
  const known = steps.map(() => atFirst);
  const shown: string[] = [];
  for (let [from, asked] = [0, 0]; asked < 1_000; asked++) {
    const notified = steps.map((step, index) => ({
      ...step,
      openings: step.openings.filter(({ start }) => start < (known[index] ?? 0)),
      knownUntil: (known[index] ?? 0) > 8 ? NEVER : (known[index] ?? 0),
    }));
    const next = searchVisits(notified, () => false)(from).next().value;
    if (next?.kind === 'proposal') {
      shown.push(show(next.proposal));
      from = (next.proposal[0]?.start ?? 0) + 1;
    } else if (next?.kind === 'more') {
      expect(next.steps.length).toBeGreaterThan(0);
      for (const index of next.steps) {
        known[index] = Math.max(known[index] ?? 0, next.from) + 1;
      }
    } else {
      expect(next?.kind).toBe('end');
      return shown;
    }
  }
  throw new Error('The search does not end');
}

describe('a thousand small cases', () => {
  test('give what looking at everything gives, in its order, whether all is known or told little by little', () => {
    const seeds = Array.from({ length: 1_000 }, (_, seed) => seed);
    const counts = seeds.map((seed) => {
      const steps = someSteps(seed);
      const expected = exhaustive(steps);
      expect({ seed, found: found(steps, NEVER) }).toEqual({ seed, found: expected });
      expect({ seed, found: found(steps, seed % 5) }).toEqual({ seed, found: expected });
      return expected.length;
    });
    expect(counts.filter((count) => count > 0).length).toBeGreaterThan(500);
    expect(counts.filter((count) => count === 0).length).toBeGreaterThan(20);
  });
});
