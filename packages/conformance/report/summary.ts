import type { Check, Stage } from '../check.ts';
import { areas } from '../checks/all.ts';
import type { Findings, Result, Verdict } from '../run.ts';

/** A run as it is reported. */
export interface Report extends Findings {
  readonly baseUrl: string;
  readonly stage: Stage;
}

/** The verdicts, the worst first, and what they are called. */
export const verdicts: Readonly<Record<Verdict, string>> = {
  failed: 'failed',
  warning: 'not followed, though not binding',
  skipped: 'skipped: something has to be prepared',
  replaced: 'not followed, but another way is',
  passed: 'passed',
};

/** How many checks have each verdict. */
export function count(results: readonly Result[]): Readonly<Record<Verdict, number>> {
  const counts: Record<Verdict, number> = { failed: 0, warning: 0, skipped: 0, replaced: 0, passed: 0 };
  for (const { verdict } of results) {
    counts[verdict]++;
  }
  return counts;
}

/** The area that a check belongs to. */
export function areaOf({ name }: Check): string {
  return Object.entries(areas).find(([, checks]) => checks.some((one) => one.name === name))?.[0] ?? 'Other';
}
