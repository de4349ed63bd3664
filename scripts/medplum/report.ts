/** What a deployment did, or in a dry run would do, with one thing. */
export type Change = 'created' | 'updated' | 'unchanged' | 'removed';

/** Counts of what a deployment did. */
export type Counts = Readonly<Record<Change, number>>;

/** Notes what happens to each thing, line by line, and counts. */
export interface Report {
  note(change: Change, subject: string): void;
  counts(): Counts;
}

/**
 * Starts the report of a deployment.
 *
 * @param log - receives each line as soon as it is known
 * @param dryRun - whether the lines say what would be done
 */
export function startReport(log: (line: string) => void, dryRun = false): Report {
  const counts = { created: 0, updated: 0, unchanged: 0, removed: 0 };
  const prefix = dryRun ? 'would be ' : '';
  return {
    note(change, subject) {
      counts[change] += 1;
      log(`${change === 'unchanged' ? change : prefix + change}  ${subject}`);
    },
    counts: () => ({ ...counts }),
  };
}
