import type { OperationOutcome } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome/outcome.ts';

/** If the result of a patch is malformed, the patch itself is invalid. */
export function asPatchInvalid(issue: Issue): Issue {
  return issue.code === 'malformed-request' ? { ...issue, code: 'patch-invalid' } : issue;
}

/** The outcome for an appointment that is unknown to the caller (404) or deleted (410). */
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
