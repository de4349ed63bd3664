import type { Left } from '../clean-up.ts';
import type { Result } from '../run.ts';
import { count, type Report, verdicts } from './summary.ts';

const rowOf = ({ check, verdict }: Result): string[] => [verdict, check.level, check.name, check.rule];

function reasons(results: readonly Result[]): string[] {
  return results
    .filter(({ reason }) => reason !== '')
    .map(({ check, verdict, reason }) => `${check.name} (${verdict}; ${check.section})\n  ${reason}`);
}

const inWords = ({ reference, reason }: Left): string => `  ${reference}: ${reason}`;

/** Sets titles and rows of cells as a table. */
type Format = (head: readonly string[], rows: readonly (readonly string[])[]) => string;

/** A run for people: every check in a row, then why each did not pass, then the numbers. */
export function tableReport({ results, left, baseUrl, stage }: Report, format: Format): string {
  const counts = Object.entries(count(results)).filter(([, number]) => number > 0);
  const names: Readonly<Record<string, string>> = verdicts;
  return [
    format(['verdict', 'level', 'check', 'rule'], results.map(rowOf)),
    ...reasons(results),
    ...(left.length > 0 ? [`Could not be cleaned up:\n${left.map(inWords).join('\n')}`] : []),
    `${baseUrl}, ${stage}: ${counts.map(([verdict, number]) => `${number} ${names[verdict]}`).join(', ')}.`,
  ].join('\n\n');
}
