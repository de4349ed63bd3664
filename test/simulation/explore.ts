import { type Choose, type Jobs, type Play, type Prepared, play } from './play.ts';
import type { Fate, World } from './world.ts';

/** What can come next: a request, and its fate. */
interface Option {
  readonly key: string;
  readonly fate: Fate;
}

/** A place where several things can come next. */
interface Node {
  readonly options: readonly Option[];
  index: number;
  /** How many faults there were before. */
  readonly faults: number;
}

/** What came of playing many orders. */
export interface Exploration {
  readonly plays: number;
  /** How many states there were in which something could come next. */
  readonly states: number;
  readonly isComplete: boolean;
  readonly failed: Play | undefined;
}

/** How much is played. */
export interface Bounds {
  readonly jobs: Jobs;
  /** How many faults there may be in one play. */
  readonly faults: number;
  readonly plays: number;
  /** Milliseconds since the process began. */
  readonly until?: number;
}

const fatesOf = (isRead: boolean, faults: number): readonly Fate[] =>
  faults === 0 ? ['passes'] : isRead ? ['passes', 'dies'] : ['passes', 'dies', 'loses its answer'];

/** The next of some numbers by chance, which a seed decides: mulberry32. */
export function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Lets the actors take turns by chance: mostly one goes on, now and then another does. */
export function byChance(next: (below: number) => number, faults: number): Choose {
  let last: string | undefined;
  let left = faults;
  return ({ held }) => {
    const same = held.filter(({ actor }) => actor === last);
    const candidates = same.length > 0 && next(3) > 0 ? same : held;
    const one = candidates[next(candidates.length)];
    if (!one) {
      return undefined;
    }
    last = one.actor;
    const fates = fatesOf(one.isRead, left);
    const fate = next(12) === 0 ? (fates[next(fates.length)] ?? 'passes') : 'passes';
    left -= fate === 'passes' ? 0 : 1;
    return { held: one, fate };
  };
}

/**
 * Plays a scene in every order of its requests until one breaks a rule. What follows a state of the world is played once,
 * whatever order led to it: it depends on nothing but what is stored and what the actors know.
 */
export async function explore(
  prepared: Prepared,
  { jobs, faults, plays: most, until = Number.POSITIVE_INFINITY }: Bounds,
): Promise<Exploration> {
  const path: Node[] = [];
  const seen = new Set<string>();
  const counts = { plays: 0, states: 0 };

  function enter(world: World): Node | undefined {
    const last = path.at(-1);
    const used = (last?.faults ?? 0) + (last && last.options[last.index]?.fate !== 'passes' ? 1 : 0);
    const worldState = `${world.worldState()} ${used}`;
    if (seen.has(worldState)) {
      return undefined;
    }
    seen.add(worldState);
    const options = world.held.flatMap(({ key, isRead }) =>
      fatesOf(isRead, faults - used).map((fate) => ({ key, fate })),
    );
    const node = { options, index: 0, faults: used };
    path.push(node);
    return node;
  }

  for (;;) {
    let depth = 0;
    const choose: Choose = (world) => {
      const node = path[depth] ?? enter(world);
      depth += 1;
      const option = node?.options[node.index];
      if (!option) {
        return undefined;
      }
      const held = world.held.find(({ key }) => key === option.key);
      if (!held) {
        throw new Error(`The same order came out differently: ${option.key} is not there.`);
      }
      return { held, fate: option.fate };
    };
    const result = await play(prepared, choose, jobs);
    counts.plays += 1;
    counts.states = seen.size;
    if (result.violations.length > 0) {
      return { ...counts, isComplete: false, failed: result };
    }
    if (!advance(path)) {
      return { ...counts, isComplete: true, failed: undefined };
    }
    if (counts.plays >= most || performance.now() > until) {
      return { ...counts, isComplete: false, failed: undefined };
    }
  }
}

/** Plays a scene in so many orders that a seed decides, until one is broken: by default, until it breaks a rule. */
export async function sample(
  prepared: Prepared,
  { jobs, faults, plays, until = Number.POSITIVE_INFINITY }: Bounds,
  seed: number,
  isBroken: (play: Play) => boolean = ({ violations }) => violations.length > 0,
): Promise<Exploration> {
  for (let count = 1; count <= plays && performance.now() < until; count++) {
    const result = await play(prepared, byChance(chance(seed + count), faults), jobs);
    if (isBroken(result)) {
      return { plays: count, states: 0, isComplete: false, failed: result };
    }
  }
  return { plays, states: 0, isComplete: false, failed: undefined };
}

/** Turns to the next order; `false` after the last one. */
function advance(path: Node[]): boolean {
  for (let node = path.at(-1); node; node = path.at(-1)) {
    if (node.index + 1 < node.options.length) {
      node.index += 1;
      return true;
    }
    path.pop();
  }
  return false;
}
