import { readFileSync } from 'node:fs';

/** A test as docs/conformance.md names it: `%s` stands for what varies in a table of tests. */
export interface NamedTest {
  readonly file: string;
  readonly name: string;
}

/** A rule of the specification, and the tests that fail when it is broken. */
export interface Row {
  readonly rule: string;
  readonly tests: readonly NamedTest[];
}

const testsIn = (line: string): NamedTest[] =>
  [...line.matchAll(/`(test\/[\w./-]+)`: ((?:“[^”]+”(?:, )?)+)/g)].flatMap(([, file = '', names = '']) =>
    [...names.matchAll(/“([^”]+)”/g)].map(([, name = '']) => ({ file, name })),
  );

/** The rows of docs/conformance.md. */
export const rows: readonly Row[] = readFileSync('docs/conformance.md', 'utf8')
  .split('\n')
  .filter((line) => / (MUST|SHOULD|MAY) /.test(line))
  .map((line) => ({ rule: line.split('|')[1]?.trim() ?? '', tests: testsIn(line) }));

/** The pattern of the titles that a name stands for. */
export const patternOf = (name: string): string =>
  name
    .split('%s')
    .map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&'))
    .join('.*');
