import fc from 'fast-check';
import type { Act } from './acts.ts';
import { byChance, chance } from './explore.ts';
import { type Play, type Prepared, play } from './play.ts';
import type { Scene } from './scenes.ts';

/** What a random run is made of: for each actor what it does, and the seed of the order. */
export interface Run {
  readonly acts: readonly (readonly Act[])[];
  readonly order: number;
  readonly faults: number;
}

const halfHours = ['09:00-09:30', '09:15-09:45', '09:30-10:00', '09:45-10:15', '10:00-10:30', '10:15-10:45'];
const others = ['09:00-09:20', '09:10-09:40', '09:30-10:30', '10:05-10:25'];

const time = fc.constantFrom(...halfHours);
const anyTime = fc.oneof({ weight: 3, arbitrary: time }, { weight: 1, arbitrary: fc.constantFrom(...others) });
const portal = fc.constantFrom('A' as const, 'B' as const);
const name = fc.constantFrom('x', 'y', 'z');

/** The acts that are tried, and how often. */
const acts: readonly { readonly weight: number; readonly arbitrary: fc.Arbitrary<Act> }[] = [
  { weight: 6, arbitrary: fc.record({ does: fc.constant('book' as const), portal, time: anyTime, as: name }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('hold' as const), portal, time, as: name }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('move' as const), portal, what: name, time }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('replace' as const), portal, what: name, time, as: name }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('accept' as const), portal, what: name }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('cancel' as const), portal, what: name }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('block' as const), time: anyTime, as: name }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('occupy' as const), time }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('unblock' as const), what: name }) },
  {
    weight: 2,
    arbitrary: fc.record({ time, as: name }).map((more): Act => ({ does: 'write', slot: more.time, ...more })),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('write' as const), time: anyTime, as: name }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('staff-cancel' as const), what: name }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('confirm' as const), what: name }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('native-book' as const), time, as: name }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('native-hold' as const), time, as: name }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('native-cancel' as const), what: name }) },
  { weight: 1, arbitrary: fc.constant<Act>({ does: 'clock' }) },
  { weight: 1, arbitrary: fc.constant<Act>({ does: 'pass', minutes: 11 }) },
];

const act: fc.Arbitrary<Act> = fc.oneof(...acts);

/** Runs of up to three actors; `length` is how much each does at most. */
const runs = (length: number, faults: number): fc.Arbitrary<Run> =>
  fc.record({
    acts: fc.array(fc.array(act, { minLength: 1, maxLength: length }), { minLength: 1, maxLength: 3 }),
    order: fc.nat(1_000_000),
    faults: fc.nat(faults),
  });

/** What of random runs is chosen. */
export interface RandomBounds {
  readonly seed: number;
  /** How many runs there are, and steps of all together, at most. */
  readonly runs: number;
  readonly steps: number;
  /** How much each actor does at most. */
  readonly length: number;
  readonly faults: number;
  /** How long they may take together, in milliseconds. */
  readonly milliseconds: number;
}

/** What came of random runs: the shortest that was found to break a rule, if any does. */
export interface RandomResult {
  readonly runs: number;
  readonly steps: number;
  readonly failed: { readonly run: Run; readonly play: Play } | undefined;
}

/** Plays random runs in a calendar, and makes the first that breaks a rule as short as it can. */
export async function playRandom(
  prepared: Prepared,
  { seed, runs: count, steps: most, length, faults, milliseconds }: RandomBounds,
): Promise<RandomResult> {
  let steps = 0;
  let found: RandomResult['failed'];
  const playRun = async (run: Run): Promise<boolean> => {
    if (steps >= most && !found) {
      return true;
    }
    const scene: Scene = { ...prepared.scene, acts: run.acts };
    const result = await play({ ...prepared, scene }, byChance(chance(run.order), run.faults), 'among');
    steps += result.lines.length;
    const isBroken = result.violations.length > 0;
    if (isBroken) {
      found = { run, play: result };
    }
    return !isBroken;
  };
  const details = await fc.check(fc.asyncProperty(runs(length, faults), playRun), {
    seed,
    numRuns: count,
    interruptAfterTimeLimit: milliseconds,
    markInterruptAsFailure: false,
  });
  return { runs: details.numRuns, steps, failed: details.failed ? found : undefined };
}
