import type { OperationOutcome } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome.ts';

/** What is no Appointment after a patch was a patch that cannot be carried out. */
export function asPatchInvalid(issue: Issue): Issue {
  return issue.code === 'malformed-request' ? { ...issue, code: 'patch-invalid' } : issue;
}

/**
 * Says why the server found the result of a patch not to be valid FHIR.
 *
 * @param outcome - as answered to the transaction
 * @returns a `patch-invalid` for each of its issues, with the path of the element in the result
 */
export function patchRefusedByServer({ issue }: OperationOutcome): Issue[] {
  return issue.map(({ expression, details, diagnostics }) => ({
    code: 'patch-invalid',
    diagnostics: details?.text ?? diagnostics ?? 'The server rejected the result as invalid.',
    ...(expression?.[0] && { expression: expression[0] }),
  }));
}

/** The appointment is there no more, or not for this caller: an outcome that Medplum answers with 404 or 410. */
export function absentOutcome(kind: 'unknown' | 'deleted'): OperationOutcome {
  return {
    resourceType: 'OperationOutcome',
    id: kind === 'unknown' ? 'not-found' : 'gone',
    issue: [
      {
        severity: 'error',
        code: kind === 'unknown' ? 'not-found' : 'deleted',
        diagnostics: kind === 'unknown' ? 'There is no such appointment.' : 'The appointment was deleted.',
      },
    ],
  };
}
