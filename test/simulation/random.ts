import fc from 'fast-check';
import type { Act, Moving, Sent } from './acts.ts';
import type { Calendar } from './clinic.ts';
import { byChance, chance } from './explore.ts';
import { type Play, type Prepared, play } from './play.ts';
import type { Scene } from './scenes.ts';

/** What a random run is made of: for each actor what it does, and the seed of the order. */
export interface Run {
  readonly acts: readonly (readonly Act[])[];
  readonly order: number;
  readonly faults: number;
}

const others = ['09:00-09:20', '09:10-09:40', '09:30-10:30', '10:05-10:25'];

const hhmm = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;

/** The times of a calendar's grid from nine to eleven. */
function gridOf({ duration = 30, grid = 15 }: Calendar): string[] {
  const starts = Array.from({ length: 120 / grid }, (_, index) => 9 * 60 + index * grid);
  return starts
    .filter((start) => start + duration <= 11 * 60)
    .map((start) => `${hhmm(start)}-${hhmm(start + duration)}`);
}

const portal = fc.constantFrom('A' as const, 'B' as const);
const name = fc.constantFrom('x', 'y', 'z');
const waiting = fc.constantFrom('v', 'w');
/** Who is offered a time: because they wait, or because theirs cannot take place. */
const offered = fc.constantFrom('v', 'w', 'x', 'y');
const absence = fc.constantFrom('09:00-10:00', '09:30-11:00');

/** An act that is tried, and how often. */
type Tried = readonly [weight: number, fc.Arbitrary<Act>];

const does = <D extends Act['does']>(what: D): fc.Arbitrary<D> => fc.constant(what);

interface Times {
  readonly time: fc.Arbitrary<string>;
  readonly anyTime: fc.Arbitrary<string>;
}

const byPortals = ({ time, anyTime }: Times): readonly Tried[] => [
  [6, fc.record({ does: does('book'), portal, time: anyTime, as: name })],
  [2, fc.record({ does: does('hold'), portal, time, as: name })],
  [3, fc.record({ does: does('move'), portal, what: name, time })],
  [1, fc.record({ does: does('replace'), portal, what: name, time, as: name })],
  [1, fc.record({ does: does('accept'), portal, what: name })],
  [4, fc.record({ does: does('cancel'), portal, what: name })],
  [
    2,
    fc.record(
      { does: does('join'), portal, time: fc.constantFrom('09:00-10:00', '09:00-11:00'), as: waiting, current: name },
      { requiredKeys: ['does', 'portal', 'time', 'as'] },
    ),
  ],
  [2, fc.record({ does: does('take'), portal, what: offered })],
  [1, fc.record({ does: does('decline'), portal, what: offered })],
  [1, fc.record({ does: does('cancel'), portal, what: waiting })],
  [1, fc.constant<Act>({ does: 'clock' })],
  [1, fc.constant<Act>({ does: 'pass', minutes: 11 })],
];

const over = fc.constantFrom('LocalOverbooking' as const, 'unvalidated' as const);
const sent = fc.constantFrom<Sent>('in one', 'in one, backwards', 'in a batch', 'one by one', 'one by one, backwards');
const by = fc.constantFrom<Moving>(
  '$reschedule',
  'anew',
  'anew, one by one',
  'anew, in a batch',
  'times',
  'patch',
  'Slot',
  'Slot alone',
);

const byOthers = ({ time, anyTime }: Times): readonly Tried[] => [
  [
    2,
    fc.record(
      { does: does('staff-book'), time, sent, slot: fc.constant('new' as const), over, as: name },
      { requiredKeys: ['does', 'time', 'sent', 'as'] },
    ),
  ],
  [
    4,
    fc.record(
      { does: does('staff-move'), what: name, time: anyTime, by, over },
      { requiredKeys: ['does', 'what', 'time', 'by'] },
    ),
  ],
  [1, fc.record({ does: does('native-book'), time, as: name, weeks: fc.constantFrom(2, 3) })],
  [2, fc.record({ does: does('block'), time: anyTime, as: name })],
  [1, fc.record({ does: does('occupy'), time })],
  [2, fc.record({ does: does('unblock'), what: name })],
  [2, fc.record({ time, as: name }).map((more): Act => ({ does: 'write', slot: more.time, ...more }))],
  [1, fc.record({ does: does('write'), time: anyTime, as: name })],
  [1, fc.record({ does: does('staff-cancel'), what: name })],
  [1, fc.record({ does: does('confirm'), what: name })],
  [2, fc.record({ does: does('native-book'), time, as: name })],
  [1, fc.record({ does: does('native-hold'), time, as: name })],
  [2, fc.record({ does: does('native-cancel'), what: name })],
  [
    1,
    fc.record({
      does: does('absence'),
      time: absence,
      silence: fc.constantFrom('keep' as const, 'cancel' as const, 'move' as const),
    }),
  ],
  [1, fc.record({ does: does('end-absence'), time: absence, at: fc.constantFrom('09:00', '09:45') })],
];

const placedAt = (time: fc.Arbitrary<string>) =>
  fc.record({ time, in: fc.constantFrom(['c'] as const, ['d'] as const) });

/** Visits of two and three steps, in the one calendar and the other, that are booked and moved. */
const byVisitors = (placed: ReturnType<typeof placedAt>): readonly Tried[] => [
  [6, fc.record({ does: does('visit'), portal, steps: fc.array(placed, { minLength: 2, maxLength: 3 }), as: name })],
  [
    2,
    name.chain((what) =>
      fc.record({
        does: does('visit'),
        portal,
        steps: fc.array(placed, { minLength: 2, maxLength: 3 }),
        what: fc.constant(what),
        as: fc.constant(what),
      }),
    ),
  ],
];

/** Who takes part in random runs: all, or portals and the clock alone. */
export type Cast = 'all' | 'portals';

/** Runs of up to three actors; `length` is how much each does at most. */
function runs({ length, faults, cast }: RandomBounds, [plan = {}]: readonly Calendar[]): fc.Arbitrary<Run> {
  const time = fc.constantFrom(...gridOf(plan));
  const anyTime = fc.oneof({ weight: 3, arbitrary: time }, { weight: 1, arbitrary: fc.constantFrom(...others) });
  const tried = [
    ...byPortals({ time, anyTime }),
    ...(cast === 'all' ? byOthers({ time, anyTime }) : []),
    ...(plan.visit ? byVisitors(placedAt(time)) : []),
  ];
  const act = fc.oneof(...tried.map(([weight, arbitrary]) => ({ weight, arbitrary })));
  return fc.record({
    acts: fc.array(fc.array(act, { minLength: 1, maxLength: length }), { minLength: 1, maxLength: 3 }),
    order: fc.nat(1_000_000),
    faults: fc.nat(faults),
  });
}

/** A calendar by chance, from all that one can be. */
export function drawCalendar(seed: number): Calendar {
  const next = chance(seed);
  const one = <T>(...of: readonly [T, ...T[]]): T => of[next(of.length)] ?? of[0];
  const duration = one(15, 20, 30, 30);
  const needs = { duration, grid: one(5, 10, 15, 30), before: one(0, 0, 5, 10), after: one(0, 0, 5, 10) };
  const more = {
    ...(next(5) === 0 && { confirmation: 'manual' as const }),
    ...(next(5) === 0 && { refill: true as const }),
  };
  if (next(3) > 0) {
    return { ...needs, ...more, hours: '09:00-11:00', capacity: one(1, 1, 2), weeks: one(1, 1, 3) };
  }
  const length = one(duration, duration, 60);
  const places = one(1, 1, 2);
  const offers = Array.from({ length: places }, () =>
    Array.from({ length: 2 + next(2) }, (_, index) => 9 * 60 + index * (length + one(0, 0, 10)))
      .filter((start) => start + length <= 11 * 60 + 30)
      .map((start) => `${hhmm(start)}-${hhmm(start + length)}`),
  );
  return { ...needs, ...more, offers };
}

/** What of random runs is chosen. */
export interface RandomBounds {
  readonly seed: number;
  /** How many steps all runs have together, about. */
  readonly steps: number;
  /** How much each actor does at most. */
  readonly length: number;
  readonly faults: number;
  readonly cast: Cast;
  /** How long they may take together, in milliseconds. */
  readonly milliseconds: number;
}

/** A run that breaks a rule. */
interface Broken {
  readonly run: Run;
  readonly play: Play;
}

function playOnce(prepared: Prepared, run: Run): Promise<Play> {
  const scene: Scene = { ...prepared.scene, acts: run.acts };
  return play({ ...prepared, scene }, byChance(chance(run.order), run.faults), run.order % 2 ? 'at once' : 'among');
}

/** What came of random runs: the shortest that was found to break a rule, if any does. */
export interface RandomResult {
  readonly runs: number;
  readonly steps: number;
  readonly failed: Broken | undefined;
}

/** How many runs are drawn with one seed. */
const CHUNK = 50;

/** Plays random runs in a calendar, and makes the first that breaks a rule as short as it can. */
export async function playRandom(prepared: Prepared, bounds: RandomBounds): Promise<RandomResult> {
  const { seed, steps: most, milliseconds } = bounds;
  const end = performance.now() + milliseconds;
  const counts = { runs: 0, steps: 0 };
  const plans = Object.values(prepared.scene.calendars);
  let found: Broken | undefined;
  const playRun = async (run: Run): Promise<boolean> => {
    const result = await playOnce(prepared, run);
    counts.runs += 1;
    counts.steps += result.lines.length;
    const isBroken = result.violations.length > 0;
    if (isBroken) {
      found = { run, play: result };
    }
    return !isBroken;
  };
  for (let chunk = 0; counts.steps < most && performance.now() < end && !found; chunk++) {
    await fc.check(fc.asyncProperty(runs(bounds, plans), playRun), {
      seed: seed + chunk,
      numRuns: CHUNK,
      interruptAfterTimeLimit: Math.max(1, end - performance.now()),
      markInterruptAsFailure: false,
    });
  }
  return { ...counts, failed: found && (await shortened(prepared, found)) };
}

/** All runs with one act less. */
const shorter = ({ acts: all, ...run }: Run): Run[] =>
  all.flatMap((own, actor) =>
    own.map((_, index) => {
      const fewer = all.map((each, other) => (other === actor ? each.filter((__, place) => place !== index) : each));
      return { ...run, acts: fewer.filter(({ length: count }) => count > 0) };
    }),
  );

/** How many orders are tried for a shorter history. */
const ORDERS = 30;

/** Leaves out acts as long as a rule is still broken, and looks for the shortest order. */
async function shortened(prepared: Prepared, found: Broken): Promise<Broken> {
  let best = found;
  const tries = async (run: Run): Promise<boolean> => {
    const result = await playOnce(prepared, run);
    const isBetter = result.violations.length > 0 && result.lines.length < best.play.lines.length;
    best = isBetter ? { run, play: result } : best;
    return isBetter;
  };
  for (let isShorter = true; isShorter; ) {
    isShorter = false;
    for (const run of shorter(best.run)) {
      isShorter ||= await tries(run);
    }
    for (let order = 0; order < ORDERS && !isShorter; order++) {
      isShorter = await tries({ ...best.run, order });
    }
  }
  return best;
}
