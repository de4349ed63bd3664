import { munkres } from 'munkres';
import { type Interval, overlaps } from '../../time/interval.ts';

/** Something that has only one use at a time: a place of a calendar, or a person. */
export interface Use extends Interval {
  readonly of: string;
}

/** What one appointment could become. */
export interface Choice {
  /** Choices with the same key exclude each other. */
  readonly key: string;
  /** More than zero, and less than what it costs to choose nothing. */
  readonly cost: number;
  /** Choices that use the same at the same time exclude each other, too. */
  readonly uses: readonly Use[];
}

/** The choice that was taken for each row; `undefined` where there is none. */
type Assignment<C extends Choice> = readonly (C | undefined)[];

/** How many of its cheapest choices are considered for a row. */
export const MOST_CHOICES = 400;

/** How many cells may be looked at in order to get nearer to the optimum, and how often one may try. */
const most = { cells: 60_000_000, trials: 30, looks: 2_000_000, looksAtChoice: 50, again: 2_000 } as const;

/** A result this near to what is possible at best is good enough. */
const NEAR = 1.005;

const excludes = (one: Choice, other: Choice): boolean =>
  one.key === other.key || one.uses.some((use) => other.uses.some((its) => use.of === its.of && overlaps(use, its)));

const costOf = <C extends Choice>(assignment: Assignment<C>, none: number): number =>
  assignment.reduce((sum, choice) => sum + (choice?.cost ?? none), 0);

/** Assigns the rows at the least cost; of what excludes each other, only equal keys are heeded. */
function cheapest<C extends Choice>(rows: readonly (readonly C[])[], none: number): Assignment<C> {
  const columns = new Map<string, number>();
  for (const { key } of rows.flat()) {
    columns.set(key, columns.get(key) ?? columns.size);
  }
  const width = columns.size + rows.length;
  const chosen = rows.map(() => new Map<number, C>());
  const matrix = rows.map((choices, index) => {
    const costs = new Float64Array(width).fill(none);
    for (const choice of choices) {
      const column = columns.get(choice.key) ?? 0;
      if (choice.cost < (costs[column] ?? 0)) {
        costs[column] = choice.cost;
        chosen[index]?.set(column, choice);
      }
    }
    return costs;
  });
  const result: (C | undefined)[] = rows.map(() => undefined);
  for (const [row, column] of rows.length > 0 ? munkres(matrix) : []) {
    result[row] = chosen[row]?.get(column);
  }
  return result;
}

/** Two rows whose choices exclude each other, if there are any. */
function conflictIn<C extends Choice>(assignment: Assignment<C>): readonly [number, number] | undefined {
  const uses = assignment.flatMap((choice, row) => (choice?.uses ?? []).map((use) => ({ ...use, row })));
  for (const own of Map.groupBy(uses, (use) => use.of).values()) {
    const sorted = own.toSorted((one, other) => one.start - other.start);
    let last = sorted[0];
    for (const use of sorted.slice(1)) {
      if (last && use.row !== last.row && use.start < last.end) {
        return [last.row, use.row];
      }
      last = last && last.end > use.end ? last : use;
    }
  }
  return undefined;
}

/** The rows when one of them has taken a choice: the others have lost what this excludes. */
const withTaken = <C extends Choice>(
  rows: readonly (readonly C[])[],
  row: number,
  taken: C,
): readonly (readonly C[])[] =>
  rows.map((choices, index) => (index === row ? [taken] : choices.filter((one) => !excludes(one, taken))));

/** Whether a choice is excluded by any of those that are taken. */
function excludedBy<C extends Choice>(taken: readonly C[]): (choice: C) => boolean {
  const keys = new Set(taken.map(({ key }) => key));
  const uses = Map.groupBy(
    taken.flatMap((one) => one.uses),
    ({ of }) => of,
  );
  return (choice) =>
    keys.has(choice.key) || choice.uses.some((use) => uses.get(use.of)?.some((its) => overlaps(use, its)) ?? false);
}

/** Rows of which some are settled: the cheaper ones first keep what was assigned, the others choose again. */
function settleAll<C extends Choice>(
  rows: readonly (readonly C[])[],
  first: Assignment<C>,
  none: number,
): Assignment<C> {
  const settled = new Map<number, C | undefined>();
  let left: readonly (readonly C[])[] = rows;
  let assignment = first;
  while (settled.size < rows.length) {
    const open = [...rows.keys()].filter((row) => !settled.has(row));
    const byCost = open.toSorted((one, other) => (assignment[one]?.cost ?? none) - (assignment[other]?.cost ?? none));
    const kept: C[] = [];
    for (const row of byCost) {
      const choice = assignment[row];
      if (!choice || !kept.some((one) => excludes(one, choice))) {
        settled.set(row, choice);
        kept.push(...(choice ? [choice] : []));
      }
    }
    const again = [...rows.keys()].filter((row) => !settled.has(row));
    const isExcluded = excludedBy(kept);
    left = left.map((choices, row) => (settled.has(row) ? choices : choices.filter((one) => !isExcluded(one))));
    const found = cheapest(
      again.map((row) => left[row] ?? []),
      none,
    );
    assignment = rows.map((_, row) => (settled.has(row) ? settled.get(row) : found[again.indexOf(row)]));
  }
  return assignment;
}

/** What is assigned, and who uses what: it is improved step by step. */
class Improving<C extends Choice> {
  readonly #rows: readonly (readonly C[])[];
  readonly #none: number;
  readonly #chosen: (C | undefined)[];
  readonly #users = new Map<string, Set<number>>();
  /** What was chosen before each change. */
  readonly #changes: (readonly [row: number, choice: C | undefined])[] = [];
  /** How many choices may still be looked at. */
  #left: number;

  constructor(rows: readonly (readonly C[])[], assignment: Assignment<C>, none: number, most: number) {
    this.#rows = rows;
    this.#none = none;
    this.#chosen = rows.map(() => undefined);
    this.#left = most;
    for (const [row, choice] of assignment.entries()) {
      this.#set(row, choice);
    }
  }

  #set(row: number, choice: C | undefined): void {
    this.#changes.push([row, this.#chosen[row]]);
    for (const of of this.#chosen[row]?.uses ?? []) {
      this.#users.get(of.of)?.delete(row);
    }
    this.#chosen[row] = choice;
    for (const { of } of choice?.uses ?? []) {
      this.#users.set(of, (this.#users.get(of) ?? new Set()).add(row));
    }
  }

  /** The rows, besides its own, whose choices a choice excludes; of too many only some. */
  #excluded(row: number, choice: C): number[] {
    this.#left -= 1;
    const found: number[] = [];
    for (const use of choice.uses) {
      for (const other of this.#users.get(use.of) ?? []) {
        const its = this.#chosen[other];
        if (other !== row && its && !found.includes(other) && excludes(choice, its)) {
          found.push(other);
        }
      }
      if (found.length > MOST_OUT) {
        return found;
      }
    }
    return found;
  }

  #cost(row: number): number {
    return this.#chosen[row]?.cost ?? this.#none;
  }

  /**
   * Finds a place for a row whose choice was taken from it, at the least cost, if it costs less than so much.
   *
   * @returns what it costs more than it is worth to the others; `undefined` if it is not found
   */
  #place(row: number, limit: number, depth: number, kept: ReadonlySet<number>): number | undefined {
    for (const choice of this.#rows[row] ?? []) {
      if (choice.cost >= limit || this.#left <= 0) {
        return undefined;
      }
      const out = this.#excluded(row, choice);
      if (out.length === 0) {
        this.#set(row, choice);
        return choice.cost;
      }
      if (depth > 0 && out.length <= MOST_OUT && !out.some((one) => kept.has(one))) {
        const cost = this.#replace(row, choice, out, limit, depth, kept);
        if (cost !== undefined) {
          return cost;
        }
      }
    }
    return undefined;
  }

  /** Takes a choice from others, who look for another one; if that costs too much, all stays as it was. */
  #replace(
    row: number,
    choice: C,
    out: readonly number[],
    limit: number,
    depth: number,
    kept: ReadonlySet<number>,
  ): number | undefined {
    const mark = this.#changes.length;
    const worth = out.reduce((sum, one) => sum + this.#cost(one), 0);
    for (const one of out) {
      this.#set(one, undefined);
    }
    this.#set(row, choice);
    let cost = choice.cost - worth;
    const now = new Set([...kept, row]);
    for (const one of out) {
      const found = this.#place(one, Math.min(this.#none, limit - cost), depth - 1, now);
      cost += found ?? this.#none;
    }
    if (cost < limit) {
      return cost;
    }
    for (const [at, earlier] of this.#changes.splice(mark).reverse()) {
      this.#set(at, earlier);
    }
    this.#changes.length = mark;
    return undefined;
  }

  /** Gives each row, in turn, what is better for all of them together, until nothing is. */
  improve(): Assignment<C> {
    for (let isBetter = true; isBetter && this.#left > 0; ) {
      isBetter = false;
      const byCost = [...this.#rows.keys()].sort((one, other) => this.#cost(other) - this.#cost(one));
      for (const row of byCost) {
        const before = this.#chosen[row];
        const cost = this.#cost(row);
        this.#changes.length = 0;
        this.#set(row, undefined);
        const found = this.#place(row, cost, DEPTH, new Set());
        if (found === undefined) {
          this.#set(row, before);
        } else {
          isBetter ||= found < cost;
        }
      }
    }
    return this.#chosen;
  }
}

/** How many others may lose their choice so that one gets a better one. */
const MOST_OUT = 2;

/** How many others one after the other may have to look for another choice so that one gets a better one. */
const DEPTH = 3;

/**
 * Chooses one of its choices, or none, for each row, so that no two exclude each other and the sum of costs is the least.
 * Without choices that merely overlap it is the least for certain. With them, what they would cost without excluding each
 * other is the bound, and the rest is tried: one of two that exclude each other has its choice, or does without it.
 *
 * @param none - what it costs to choose nothing for a row
 */
export function assign<C extends Choice>(all: readonly (readonly C[])[], none: number): Assignment<C> {
  const rows = all.map((choices) => choices.toSorted((one, other) => one.cost - other.cost).slice(0, MOST_CHOICES));
  const first = cheapest(rows, none);
  const bound = costOf(first, none);
  if (!conflictIn(first)) {
    return first;
  }
  const improved = (assignment: Assignment<C>, looks: number): Assignment<C> =>
    new Improving(rows, assignment, none, looks).improve();
  let best = improved(settleAll(rows, first, none), Math.min(most.looks, rows.flat().length * most.looksAtChoice));
  const isNear = (): boolean => costOf(best, none) <= bound * NEAR;
  const waiting: { rows: readonly (readonly C[])[]; assignment: Assignment<C>; cost: number }[] = [
    { rows, assignment: first, cost: bound },
  ];
  let cells = 0;
  for (let trial = 0; trial < most.trials && cells < most.cells && !isNear(); trial++) {
    const index = waiting.reduce((least, one, at) => (one.cost < (waiting[least]?.cost ?? 0) ? at : least), 0);
    const [node] = waiting.splice(index, 1);
    if (!node || node.cost >= costOf(best, none)) {
      break;
    }
    const conflict = conflictIn(node.assignment);
    if (!conflict) {
      best = node.assignment;
      break;
    }
    const [row] = conflict;
    const taken = node.assignment[row];
    const without = node.rows.map((choices, at) => (at === row ? choices.filter((one) => one !== taken) : choices));
    for (const branch of [without, ...(taken ? [withTaken(node.rows, row, taken)] : [])]) {
      const assignment = cheapest(branch, none);
      cells += branch.length * (branch.length + new Set(branch.flat().map(({ key }) => key)).size);
      const cost = costOf(assignment, none);
      if (cost < costOf(best, none)) {
        const whole = conflictIn(assignment) ? improved(settleAll(branch, assignment, none), most.again) : assignment;
        best = costOf(whole, none) < costOf(best, none) ? whole : best;
        waiting.push({ rows: branch, assignment, cost });
      }
    }
  }
  return best;
}
