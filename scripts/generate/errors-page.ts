import { bookingErrors } from '../../core/fhir/outcome/errors.ts';

/** The page of error codes for portal developers. */
export function errorsPage(): string {
  const byStatus = Map.groupBy(Object.entries(bookingErrors), ([, { status }]) => status);
  const sections = [...byStatus]
    .toSorted(([status], [other]) => status - other)
    .map(([status, errors]) => {
      const lines = errors.map(([code, { display }]) => `- \`${code}\`: ${display}`);
      return `## ${status}\n\n${lines.join('\n')}\n`;
    });
  return `# Error codes

<!-- Generated from core/fhir/outcome/errors.ts by \`npm run generate\`. -->

For portal developers. Every error is an \`OperationOutcome\` with one issue for each problem. The status is that of the
most serious one (400 before 422 before 409).

- \`details.coding\`: a code of the CodeSystem \`LocalBookingError\`, below. Other HTTP errors may have none.
- \`expression\`: the path in the request body, \`http.body\`, or \`http.\` with the name of a header or search parameter.
- \`diagnostics\`: what was sent, and what is allowed.

For a PATCH, \`profile-violation\` has the status 400. \`/oauth2\` has OAuth errors (RFC 6749, section 5.2).

${sections.join('\n')}`;
}
