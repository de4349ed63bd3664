import type { Issue } from '../../fhir/outcome/outcome.ts';

/** If the result of a patch is malformed, the patch itself is invalid. */
export function asPatchInvalid(issue: Issue): Issue {
  return issue.code === 'malformed-request' ? { ...issue, code: 'patch-invalid' } : issue;
}
