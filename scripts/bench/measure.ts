import { setTimeout } from 'node:timers/promises';
import type { Result } from './targets.ts';

/** The results for one kind of request with a number of concurrent callers. */
export interface Measurement {
  /** Durations of the successful requests, in milliseconds. */
  readonly durations: readonly number[];
  /** Wall-clock time for all requests, in milliseconds. */
  readonly elapsed: number;
  readonly conflicts: number;
  readonly failures: number;
}

/** Nothing measured yet. */
export const nothing: Measurement = { durations: [], elapsed: 0, conflicts: 0, failures: 0 };

/** Two measurements as one. */
export function combine(measurement: Measurement, other: Measurement): Measurement {
  return {
    durations: [...measurement.durations, ...other.durations],
    elapsed: measurement.elapsed + other.elapsed,
    conflicts: measurement.conflicts + other.conflicts,
    failures: measurement.failures + other.failures,
  };
}

/**
 * Does the same with every place, by a number of concurrent callers that each take one place after another.
 *
 * @param act - books one place, or searches for it
 */
export async function measure<T>(
  places: Iterable<T>,
  callers: number,
  act: (place: T) => Promise<Result>,
): Promise<Measurement> {
  const durations: number[] = [];
  const counts: Record<Result, number> = { done: 0, conflict: 0, failed: 0 };
  const waiting = places[Symbol.iterator]();
  const caller = async (): Promise<void> => {
    for (let next = waiting.next(); !next.done; next = waiting.next()) {
      const start = performance.now();
      const result = await act(next.value);
      counts[result]++;
      if (result === 'done') {
        durations.push(performance.now() - start);
      }
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: callers }, caller));
  return { durations, elapsed: performance.now() - start, conflicts: counts.conflict, failures: counts.failed };
}

/** Leaves the Bots that writes have set off alone, so that they do not burden what is measured next. */
export const settle = (): Promise<void> => setTimeout(3_000);

/**
 * A quantile of some values.
 *
 * @param share - 0.5 for the median
 */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Successful bookings per second. */
export function throughput({ durations, elapsed }: Measurement): number {
  return elapsed > 0 ? (durations.length / elapsed) * 1_000 : 0;
}

/** The smallest and the largest value, for a table. */
export const rangeText = (values: readonly number[]): string =>
  `${Math.min(...values).toFixed(1)}–${Math.max(...values).toFixed(1)}`;

/**
 * Measures several things in turns, in each round in another order: other load on the machine affects all of them alike.
 *
 * @returns what the rounds have found, by what was measured
 */
export async function inRounds<T, M>(
  all: readonly T[],
  rounds: number,
  measureOne: (one: T, round: number) => Promise<M>,
): Promise<ReadonlyMap<T, readonly M[]>> {
  const found = new Map(all.map((one) => [one, [] as M[]]));
  for (let round = 0; round < rounds; round++) {
    const first = round % all.length;
    for (const one of [...all.slice(first), ...all.slice(0, first)]) {
      found.get(one)?.push(await measureOne(one, round));
    }
  }
  return found;
}

/** Does something; returns how long it took, in milliseconds, and its result. */
export async function timed<T>(act: () => Promise<T>): Promise<readonly [took: number, result: T]> {
  const start = performance.now();
  const result = await act();
  return [performance.now() - start, result];
}
