import { readFileSync, writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { bookingErrors } from '../fhir/errors.ts';
import { runAsProgram } from './command.ts';

/** The pages that are made from tables in the code, by path. */
const pages: Readonly<Record<string, () => string>> = { 'docs/errors.md': errorsPage };

function errorsPage(): string {
  const rows = Object.entries(bookingErrors).map(
    ([code, { status, type, display }]) => `| \`${code}\` | ${status} | \`${type}\` | ${display} |`,
  );
  return `# Error codes

<!-- Made from fhir/errors.ts by \`npm run docs\`. -->

Every refusal is an \`OperationOutcome\`. A request is checked completely: each problem found is one issue, and the HTTP
status is that of the gravest (400 before 422 before 409). In each issue

- \`details.coding\` carries one of the codes below, from the CodeSystem \`LocalBookingError\`,
- \`code\` is FHIR's issue type,
- \`expression\` is the path of the element at fault, from the root of what was sent,
- \`diagnostics\` says what was sent and what is allowed.

Refusals of HTTP itself (401, 403, 404, 405, 406, 413, 415, 429, 502) are OperationOutcomes, too, without such a code. In
a PATCH, \`profile-violation\` comes with status 400.

| code | status | issue type | meaning |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}

/** Writes the generated pages, or says which of them are not current. */
async function main(): Promise<void> {
  const { check } = new Command()
    .name('npm run docs --')
    .description('Writes the pages of docs/ that are made from tables in the code.')
    .option('--check', 'write nothing; fail if a page is not current')
    .parse()
    .opts<{ check?: boolean }>();
  for (const [path, page] of Object.entries(pages)) {
    const text = page();
    if (!check) {
      writeFileSync(path, text);
    } else if (readFileSync(path, 'utf8') !== text) {
      throw new Error(`${path} is not current: run npm run docs and commit the result.`);
    }
  }
}

await runAsProgram(import.meta.url, main);
