import { type Choice, type Choose, type Jobs, type Play, type Prepared, play, type Quiet } from './play.ts';
import type { Fate, Held } from './world.ts';

/** What can come next: a request, and its fate. */
interface Option {
  readonly key: string;
  readonly actor: string;
  readonly isRead: boolean;
  readonly fate: Fate;
}

interface Node {
  readonly options: readonly Option[];
  chosen: Option;
  /** What need not be tried here: its orders have been played, or will be. */
  readonly asleep: Set<string>;
  readonly faults: number;
}

const nameOf = ({ key, fate }: Option): string => `${key} ${fate}`;

/** Whether two steps come to the same in either order: reads do, and the death of one whom the other does not concern. */
function isIndependent(one: Option, other: Option): boolean {
  if (one.key === other.key || one.actor === other.actor) {
    return one.key !== other.key && one.isRead && other.isRead && one.fate === 'passes' && other.fate === 'passes';
  }
  return one.fate === 'dies' || other.fate === 'dies' || (one.isRead && other.isRead);
}

function optionsOf(held: readonly Held[], faults: number): Option[] {
  return held.flatMap(({ key, actor, isRead }) => {
    const fates: readonly Fate[] =
      faults === 0 ? ['passes'] : isRead ? ['passes', 'dies'] : ['passes', 'dies', 'loses its answer'];
    return fates.map((fate) => ({ key, actor, isRead, fate }));
  });
}

/** What came of playing many orders. */
export interface Exploration {
  readonly plays: number;
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

/**
 * Plays a scene in every order of its requests, up to those that come to the same because reads change places, until one
 * breaks a rule.
 */
export async function explore(
  prepared: Prepared,
  { jobs, faults, plays: most, until = Number.POSITIVE_INFINITY }: Bounds,
): Promise<Exploration> {
  const path: Node[] = [];
  const quiet: Quiet = new Map();
  let plays = 0;
  for (;;) {
    let depth = 0;
    const choose: Choose = (held) => {
      const known = path[depth];
      const node = known ?? enter(path, held, faults);
      depth += 1;
      if (!node) {
        return undefined;
      }
      const found = held.find(({ key }) => key === node.chosen.key);
      if (!found) {
        throw new Error(`The same order came out differently: ${node.chosen.key} is not there.`);
      }
      return { held: found, fate: node.chosen.fate } satisfies Choice;
    };
    const result = await play(prepared, choose, { jobs, quiet });
    plays += result.isCut ? 0 : 1;
    if (result.violations.length > 0) {
      return { plays, isComplete: false, failed: result };
    }
    if (!advance(path)) {
      return { plays, isComplete: true, failed: undefined };
    }
    if (plays >= most || performance.now() > until) {
      return { plays, isComplete: false, failed: undefined };
    }
  }
}

/** A new place at the end of the path; `undefined` if all that could come next is played elsewhere. */
function enter(path: Node[], held: readonly Held[], faults: number): Node | undefined {
  const last = path.at(-1);
  const used = (last?.faults ?? 0) + (last && last.chosen.fate !== 'passes' ? 1 : 0);
  const options = optionsOf(held, faults - used);
  const byName = new Map(last?.options.map((one) => [nameOf(one), one]));
  const asleep = new Set(
    [...(last?.asleep ?? [])].filter((name) => {
      const one = byName.get(name);
      return one && last && isIndependent(one, last.chosen);
    }),
  );
  const chosen = options.find((one) => !asleep.has(nameOf(one)));
  if (!chosen) {
    return undefined;
  }
  const node = { options, chosen, asleep, faults: used };
  path.push(node);
  return node;
}

/** Turns to the next order; `false` after the last one. */
function advance(path: Node[]): boolean {
  for (let node = path.at(-1); node; node = path.at(-1)) {
    const { asleep, options, chosen } = node;
    asleep.add(nameOf(chosen));
    const next = options.find((one) => !asleep.has(nameOf(one)));
    if (next) {
      node.chosen = next;
      return true;
    }
    path.pop();
  }
  return false;
}
