import { bookingErrors } from '../../core/fhir/outcome/errors.ts';

/** The page of error codes for portal developers. */
export function errorsPage(): string {
  const rows = Object.entries(bookingErrors).map(
    ([code, { status, type, display }]) => `| \`${code}\` | ${status} | \`${type}\` | ${display} |`,
  );
  return `# Error codes

<!-- Generated from core/fhir/outcome/errors.ts by \`npm run generate\`. -->

Every error response is an \`OperationOutcome\`. The service checks a request completely: each problem is one issue, and the
HTTP status is that of the most serious one (400 before 422 before 409). In each issue

- \`details.coding\` has one of the codes below, from the CodeSystem \`LocalBookingError\`,
- \`code\` is FHIR's issue type,
- \`expression\` is the path of the element at fault, from the root of the request body; \`http.body\` is the body as a whole,
  \`http.\` and a name is a header or a search parameter,
- \`diagnostics\` says what was sent and what is allowed.

HTTP errors (401, 403, 404, 405, 406, 410, 412, 413, 415, 429, 502) may have no such code. For a PATCH,
\`profile-violation\` has the status 400. Only \`/oauth2\` answers with OAuth errors: JSON with \`error\` and
\`error_description\` (RFC 6749, section 5.2).

| code | status | issue type | meaning |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}
