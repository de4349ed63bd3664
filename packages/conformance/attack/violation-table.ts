import type { Format } from '../report.ts';
import type { Findings } from './attack.ts';
import { rules, type Violation } from './check-history.ts';
import type { Operation } from './history.ts';

const MAX_TEXT_LENGTH = 60;

const short = (text: string): string =>
  text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH - 1)}…` : text;

function clockOf(operations: readonly Operation[]): (time: number) => string {
  const first = Math.min(...operations.map(({ sent }) => sent));
  return (time) => (time === Number.POSITIVE_INFINITY ? '…' : String(Math.round(time - first)));
}

/** Formats a violation: a table of requests and responses. */
export function violationTable({ rule, says, operations }: Violation, format: Format): string {
  const at = clockOf(operations);
  const rows = operations
    .toSorted((operation, other) => operation.sent - other.sent)
    .map(({ sent, answered, actor, does, outcome, responseText }) => [
      `${at(sent)}–${at(answered)}`,
      actor,
      does,
      outcome,
      short(responseText),
    ]);
  const table = rows.length > 0 ? [format(['ms', 'who', 'does', 'outcome', 'is told'], rows)] : [];
  return [`${rules[rule]}: broken. ${says}`, ...table].join('\n\n');
}

/** The result of an attack; `undecided` if neither a violation nor its absence was shown. */
export function resultOf({ violations, undecided, booked }: Findings): 'pass' | 'fail' | 'undecided' {
  return violations.length > 0 ? 'fail' : undecided > 0 || booked === 0 ? 'undecided' : 'pass';
}
