import type { OperationOutcome } from '@medplum/fhirtypes';
import type { BookingErrorCode } from './errors.ts';
import type { Issue } from './outcome.ts';

/**
 * Turns the OperationOutcome by which the server rejected a resource as invalid FHIR into issues of the service.
 *
 * @param outcome - the server's response; its expressions begin with the type of the resource at fault
 * @param code - the code of every issue
 * @param rejected - what the server rejected, for issues in which it gives no reason: `request`
 * @param pathOf - the path of the element in the request; by default the server's own expression
 * @returns one issue for each issue of the server
 */
export function serverRejectionIssues(
  outcome: OperationOutcome,
  code: BookingErrorCode,
  rejected: string,
  pathOf = (expression: string): string => expression,
): Issue[] {
  return outcome.issue.map(({ expression, details, diagnostics }) => ({
    code,
    diagnostics: details?.text ?? diagnostics ?? `The server rejected the ${rejected} as invalid.`,
    ...(expression?.[0] && { expression: pathOf(expression[0]) }),
  }));
}

/**
 * What PostgreSQL says when it ends one of two transactions that wait for each other, or about the statements that follow
 * in it.
 */
const endedByDatabase = /^(deadlock detected|current transaction is aborted)/;

/**
 * Whether the database has ended a transaction that can be tried again. Medplum (5.1) answers that with 400, like an
 * invalid resource.
 */
export function isEndedByDatabase({ issue = [] }: OperationOutcome): boolean {
  return issue.some(({ details }) => endedByDatabase.test(details?.text ?? ''));
}
