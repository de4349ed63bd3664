import { existsSync, readFileSync } from 'node:fs';
import { allChecks, checksOf } from '@appointment-booking/conformance';
import { expect, it } from '@jest/globals';

/** A test as docs/conformance.md names it: `%s` stands for what varies in a table of tests. */
const testsIn = (line: string): { readonly file: string; readonly name: string }[] =>
  [...line.matchAll(/`(test\/[\w./-]+)`: ((?:“[^”]+”(?:, )?)+)/g)].flatMap(([, file = '', names = '']) =>
    [...names.matchAll(/“([^”]+)”/g)].map(([, name = '']) => ({ file, name })),
  );

/** The rules of the specification, each with the tests that prove it. */
const rows = readFileSync('docs/conformance.md', 'utf8')
  .split('\n')
  .filter((line) => / (MUST|SHOULD|MAY) /.test(line))
  .map((line) => ({ rule: line.split('|')[1]?.trim() ?? '', tests: testsIn(line) }));

const pages = ['docs/conformance.md', 'README.md', 'CONTRIBUTING.md', 'docs/how-it-works.md'];

it.each(pages)('every path that %s names is there', (page) => {
  const paths = [...readFileSync(page, 'utf8').matchAll(/`((?:[a-z-]+\/)+[\w.-]*)`/g)].map(([, path]) => path ?? '');
  const ours = paths.filter((path) => existsSync(path.split('/')[0] ?? '') && !path.startsWith('dist/'));
  expect(ours.filter((path) => !existsSync(path))).toEqual([]);
});

/** In which the checks of the conformance kit are the tests. */
const KIT = 'test/contract/conformance.test.ts';

/** The tests that every installation has there, whatever stage it claims. */
const checks = checksOf('default', allChecks).map(({ name }) => `${name}: %s`);

/** Whether a file has a test, or a case of a table of tests, of this name. */
function hasTest(file: string, name: string): boolean {
  if (file === KIT) {
    return checks.includes(name);
  }
  const source = readFileSync(file, 'utf8');
  return ["'", '"', '`'].some((quote) => source.includes(`${quote}${name}${quote},`));
}

it('the conformance table has a row for each rule', () => {
  expect(rows.length).toBeGreaterThan(30);
});

it.each(rows.map(({ rule, tests }) => [rule, tests] as const))('names tests that there are: %s', (_, tests) => {
  expect(tests).not.toEqual([]);
  expect(tests.filter(({ file, name }) => !existsSync(file) || !hasTest(file, name))).toEqual([]);
});
