import { setTimeout } from 'node:timers/promises';
import { scaled } from './time-scale.ts';

const show = (value: unknown): string => (JSON.stringify(value) ?? String(value)).slice(0, 600);

/** What counts as a result: neither `false` nor empty. */
type Found<T> = Exclude<T, false | undefined>;

/**
 * Repeats an action until it has a result, or one that is as wanted.
 *
 * @param limit - in milliseconds, on a quick machine
 * @returns the result
 * @throws Error with the last result when the limit is over
 */
export async function until<T>(action: () => T | Promise<T>): Promise<Found<T>>;
export async function until<T>(
  action: () => T | Promise<T>,
  isWanted: (result: T) => boolean,
  limit?: number,
): Promise<T>;
export async function until<T>(
  action: () => T | Promise<T>,
  isWanted: (result: T) => boolean = Boolean,
  limit = 15_000,
) {
  const end = performance.now() + scaled(limit);
  for (let pause = 5; ; pause = Math.min(2 * pause, 50)) {
    const result = await action();
    if (isWanted(result)) {
      return result;
    }
    if (performance.now() > end) {
      throw new Error(`Not as wanted after ${scaled(limit)} ms: ${show(result)}`);
    }
    await setTimeout(pause);
  }
}

/** Looks until what it sees is as wanted: `eventually(() => slotsOf(schedule)).is(isFree)`. */
export const eventually = <T>(look: () => T | Promise<T>, limit?: number) => ({
  is: (isWanted: (seen: T) => boolean): Promise<T> => until(look, isWanted, limit),
});
