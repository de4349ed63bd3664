import { createMemory } from '../medplum/memory.ts';

const MINUTE = 60_000;

/** Names that are counted at the same time; the least recently used goes first. */
const MAX_NAMES = 20_000;

/** Counts what each name does within a minute, from its beginning. */
export interface RateLimit {
  /**
   * Counts something.
   *
   * @param weight - as how many it counts; what is heavier than the limit is allowed once a minute
   * @returns a function that takes it back, but for a part of its weight; or the seconds until it may be tried again
   */
  readonly take: (name: string, weight?: number) => ((kept?: number) => void) | number;
}

/** The count within one second; `at` is its latest time. */
interface Second {
  at: number;
  weight: number;
}

/**
 * @param most - the most within a minute
 * @param now - the clock, in milliseconds
 */
export function createRateLimit(most: number, now: () => number): RateLimit {
  const counted = createMemory<Second[]>(MAX_NAMES, MINUTE, now);
  return {
    take: (name, weight = 1) => {
      const time = now();
      // After the clock was set back, the age of a count is unknown.
      const recent = (counted.get(name) ?? []).filter(({ at }) => at > time - MINUTE && at <= time);
      let sum = recent.reduce((all, second) => all + second.weight, 0);
      let blocking: Second | undefined;
      for (const second of recent) {
        if (sum <= 0 || sum + weight <= most) {
          break;
        }
        sum -= second.weight;
        blocking = second;
      }
      if (blocking) {
        return Math.max(1, Math.ceil((blocking.at + MINUTE - time) / 1_000));
      }
      const last = recent.at(-1);
      const isSame = last && Math.floor(last.at / 1_000) === Math.floor(time / 1_000);
      const second = isSame ? last : { at: time, weight: 0 };
      second.at = time;
      second.weight += weight;
      counted.set(name, isSame ? recent : [...recent, second]);
      return (kept = 0) => {
        second.weight -= weight - kept;
      };
    },
  };
}
