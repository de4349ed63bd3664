import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setImmediate } from 'node:timers';

/** How much time of the processor the computations of one request may take, and how long they go on at once; milliseconds. */
const MAX_MS = 300;
const SLICE_MS = 10;

/** The time of the processor that the computations of one request share. */
export interface ProcessorTime {
  /** Whether a computation should let others go first: it yields then. */
  readonly isDue: () => boolean;
  /** Carries a computation out, a slice at a time; `undefined` if the time was over first. */
  readonly compute: <T>(computation: Generator<undefined, T>) => Promise<T | undefined>;
}

/** Makes the time of one request. */
export function processorTime(): ProcessorTime {
  let begun = 0;
  let spent = 0;
  // Of the processor: on a busy machine a slice takes longer, and counts for no more.
  const processor = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  };
  return {
    isDue: () => performance.now() - begun >= SLICE_MS,
    compute: async (computation) => {
      while (spent < MAX_MS) {
        const before = processor();
        begun = performance.now();
        const { done, value } = computation.next();
        spent += processor() - before;
        if (done) {
          return value;
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
      return undefined;
    },
  };
}
