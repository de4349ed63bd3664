import { bookingErrors } from '../../core/fhir/outcome/errors.ts';

/** The page of error codes for portal developers. */
export function errorsPage(): string {
  const rows = Object.entries(bookingErrors).map(
    ([code, { status, type, display }]) => `| \`${code}\` | ${status} | \`${type}\` | ${display} |`,
  );
  return `# Error codes

<!-- Generated from core/fhir/outcome/errors.ts by \`npm run generate\`. -->

Every error is an \`OperationOutcome\` with one issue for each problem of the request. The HTTP status is that of the most
serious one (400 before 422 before 409).

- \`details.coding\`: a code of the CodeSystem \`LocalBookingError\`, below. HTTP errors (401, 403, 404, 405, 406, 410, 412,
  413, 415, 429, 502) may have none.
- \`expression\`: the path from the root of the request body, \`http.body\`, or \`http.\` with the name of a header or search
  parameter.
- \`diagnostics\`: what was sent, and what is allowed.

For a PATCH, \`profile-violation\` has the status 400. \`/oauth2\` has OAuth errors (RFC 6749, section 5.2).

| code | status | issue type | meaning |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}
