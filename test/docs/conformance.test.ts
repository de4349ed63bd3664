import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

const pages = ['docs/conformance.md', 'README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs/how-it-works.md'];

it.each(pages)('every path that %s names is there', (page) => {
  const paths = [...readFileSync(page, 'utf8').matchAll(/`((?:[a-z-]+\/)+[\w.-]*)`/g)].map(([, path]) => path ?? '');
  const ours = paths.filter((path) => existsSync(path.split('/')[0] ?? '') && !path.startsWith('dist/'));
  expect(ours.filter((path) => !existsSync(path))).toEqual([]);
});

it('every rule of the conformance table names a place and a test', () => {
  const rows = readFileSync('docs/conformance.md', 'utf8')
    .split('\n')
    .filter((line) => / (MUST|SHOULD|MAY) /.test(line));
  expect(rows.length).toBeGreaterThan(30);
  expect(rows.filter((row) => !/`test\/[\w./-]+`/.test(row))).toEqual([]);
});

it('every promise of the threat model names a test', () => {
  const rows = (readFileSync('SECURITY.md', 'utf8').split('## What holds')[1] ?? '')
    .split('\n')
    .filter((line) => /^\| (?!promise|---)/.test(line));
  expect(rows.length).toBeGreaterThan(15);
  expect(rows.filter((row) => !/`test\/[\w./-]+`/.test(row))).toEqual([]);
});
