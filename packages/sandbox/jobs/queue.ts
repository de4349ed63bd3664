import { once } from 'node:events';
import type { Job, JobEvent } from './job.ts';
import type { RunResult } from './run.ts';

/** Starts jobs in the order of their arrival. */
export interface JobQueue {
  enqueue(jobs: readonly Job[]): void;
  /** Starts no further jobs, and waits up to ten seconds for running ones; the others stay in the journal. */
  close(): Promise<void>;
}

interface JobQueueOptions {
  run(job: Job): Promise<RunResult>;
  /** Records the state of a job, so that it survives a restart. */
  record(event: JobEvent): void;
  now(): Date;
  /** Factor for the delays between attempts; 1 for Medplum's own (20 s, 40 s … 8 h). */
  readonly delayScale: number;
  onRetry(job: Job, reason: string): void;
}

const concurrency = 20;
const longestGoodbye = 10_000;
const firstDelay = 20_000;
const longestDelay = 8 * 60 * 60_000;
/** The longest delay of a timer in Node.js. */
const longestTimer = 2 ** 31 - 1;

/** Milliseconds until the next attempt: exponential, with 10 % jitter, at most 8 hours. */
function retryDelay(attemptsMade: number, random: number): number {
  return Math.min(firstDelay * 2 ** (attemptsMade - 1) * (0.9 + 0.2 * random), longestDelay);
}

/** Creates a queue that runs up to 20 jobs at a time, first in, first out. */
export function createJobQueue({ run, record, now, delayScale, onRetry }: JobQueueOptions): JobQueue {
  const ready: Job[] = [];
  const timers = new Set<NodeJS.Timeout>();
  const running = new Set<Promise<void>>();
  let isClosed = false;

  async function runOne(job: Job): Promise<void> {
    const result = await run(job);
    if (result === 'over') {
      record({ over: job.jobId });
      return;
    }
    const attemptsMade = job.attemptsMade + 1;
    const delay = retryDelay(attemptsMade, Math.random()) * delayScale;
    const again = { ...job, attemptsMade, notBefore: now().getTime() + delay };
    record({ due: again });
    onRetry(again, result.retry);
    wait(again);
  }

  function start(): void {
    while (!isClosed && running.size < concurrency) {
      const job = ready.shift();
      if (!job) {
        return;
      }
      const run = runOne(job)
        .catch((error: unknown) => onRetry(job, String(error)))
        .finally(() => {
          running.delete(run);
          start();
        });
      running.add(run);
    }
  }

  function wait(job: Job): void {
    const delay = job.notBefore - now().getTime();
    if (isClosed) {
      return;
    }
    if (delay <= 0) {
      ready.push(job);
      return;
    }
    const timer = setTimeout(
      () => {
        timers.delete(timer);
        wait(job);
        start();
      },
      Math.min(delay, longestTimer),
    );
    timers.add(timer);
  }

  return {
    enqueue(jobs) {
      jobs.forEach(wait);
      start();
    },
    async close() {
      isClosed = true;
      timers.forEach(clearTimeout);
      const deadline = AbortSignal.timeout(longestGoodbye);
      await Promise.race([Promise.allSettled(running), once(deadline, 'abort')]);
    },
  };
}
