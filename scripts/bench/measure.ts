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

export const nothing: Measurement = { durations: [], elapsed: 0, conflicts: 0, failures: 0 };

/** Combines two measurements. */
export function combine(measurement: Measurement, other: Measurement): Measurement {
  return {
    durations: [...measurement.durations, ...other.durations],
    elapsed: measurement.elapsed + other.elapsed,
    conflicts: measurement.conflicts + other.conflicts,
    failures: measurement.failures + other.failures,
  };
}

/**
 * Repeats an action for each item, with a number of concurrent callers that each take one item after another.
 *
 * @param act - books or searches for one item
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

/** Waits three seconds, so that Bots that earlier writes have started do not affect the next measurement. */
export const settle = (): Promise<void> => setTimeout(3_000);

/**
 * A quantile of values.
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

export const rangeText = (values: readonly number[]): string =>
  `${Math.min(...values).toFixed(1)}–${Math.max(...values).toFixed(1)}`;

/**
 * Measures several items in rounds, each round in another order, so that other load on the machine affects all alike.
 *
 * @returns the results of the rounds, by item
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

/** Runs an action. Returns its duration in milliseconds, and its result. */
export async function timed<T>(act: () => Promise<T>): Promise<readonly [took: number, result: T]> {
  const start = performance.now();
  const result = await act();
  return [performance.now() - start, result];
}
