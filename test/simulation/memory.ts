import type { Job } from '../../packages/sandbox/jobs/job.ts';
import type { Write } from '../../packages/sandbox/storage/change.ts';
/** What Medplum answers. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** What one commit has stored, and what follows from it. */
export interface Commit {
  readonly writes: readonly Write[];
  readonly jobs: readonly Job[];
}

/** What a request came to. */
interface Known {
  readonly answer: Answer;
  readonly commits: readonly Commit[];
  /** How many ids were given afterwards. */
  readonly ids?: number;
}

/**
 * What many plays of one scene have in common. The embedded Medplum answers the same request in the same state with the
 * same, so each needs to be answered only once.
 */
export interface Memory {
  readonly answers: Map<string, Known>;
  /** The number of a state that follows on another; 0 is the state that all plays begin with. */
  stateAfter(state: number, change: string): number;
  /** A number for a text. */
  numberOf(text: string): number;
}

/** A memory of nothing. */
export function createMemory(): Memory {
  const numbers = new Map<string, number>();
  function numberOf(text: string): number {
    const number = numbers.get(text) ?? numbers.size + 1;
    numbers.set(text, number);
    return number;
  }
  return { answers: new Map(), stateAfter: (state, change) => numberOf(`${state} ${change}`), numberOf };
}
