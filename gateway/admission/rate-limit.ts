import { createMemory } from '../medplum/memory.ts';

const MINUTE = 60_000;

/** Names that are counted at the same time; the least recently used goes first. */
const MAX_NAMES = 20_000;

/** Adds up the weights that each name has taken within the last minute. */
export interface RateLimit {
  /**
   * Takes a weight, 1 by default. One heavier than the limit is accepted if nothing else was taken in the minute.
   *
   * @returns a function that gives the weight back, except for the part `kept`; if the limit is reached, the seconds
   *   until the next attempt
   */
  readonly take: (name: string, weight?: number) => ((kept?: number) => void) | number;
}

/** The count within one second; `at` is its latest time. */
interface Second {
  at: number;
  weight: number;
}

/**
 * Makes a limit for each name.
 *
 * @param most - the greatest sum of weights within a minute
 */
export function createRateLimit(most: number, now: () => number): RateLimit {
  const secondsOf = createMemory<Second[]>(MAX_NAMES, MINUTE, now);
  return {
    take: (name, weight = 1) => {
      const time = now();
      // After the clock was set back, the age of a count is unknown.
      const recent = (secondsOf.get(name) ?? []).filter(({ at }) => at > time - MINUTE && at <= time);
      let sum = recent.reduce((total, second) => total + second.weight, 0);
      // The earliest second after whose expiry the weight fits.
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
      const isSameSecond = last && Math.floor(last.at / 1_000) === Math.floor(time / 1_000);
      const second = isSameSecond ? last : { at: time, weight: 0 };
      second.at = time;
      second.weight += weight;
      secondsOf.set(name, isSameSecond ? recent : [...recent, second]);
      return (kept = 0) => {
        second.weight -= weight - kept;
      };
    },
  };
}
