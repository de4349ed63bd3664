/** Change of an artefact in a deployment or its dry run. */
export type Change = 'created' | 'updated' | 'unchanged' | 'removed';

/** Number of artefacts by change. */
export type Counts = Readonly<Record<Change, number>>;

/** Records the change of each artefact, line by line, and counts. */
export interface Report {
  note(change: Change, subject: string): void;
  counts(): Counts;
}

/**
 * Starts the report of a deployment.
 *
 * @param log - receives each line as soon as it is known
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
