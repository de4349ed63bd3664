import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { breaks, type Edit } from './breaks.ts';
import { edited } from './copy.ts';
import { patternOf, rows } from './rows.ts';

const ways = (rule: string) => breaks.filter((one) => one.rule === rule);

it.each(rows.map(({ rule, tests }) => [rule, tests] as const))(
  'each test of its row notices a break of: %s',
  (rule, tests) => {
    const noticed = ways(rule).flatMap(({ fails }) => fails ?? tests.map(({ name }) => name));
    expect(tests.map(({ name }) => name).filter((name) => !noticed.includes(name))).toEqual([]);
  },
);

it('every break is of a rule that has a row, and fails tests that the row names', () => {
  const strange = breaks.filter(({ rule, fails = [] }) => {
    const names = rows.find((row) => row.rule === rule)?.tests.map(({ name }) => name);
    return !names || !fails.every((name) => names.includes(name));
  });
  expect(strange).toEqual([]);
});

const edits = breaks.flatMap((one) => one.edits);

it.each([...new Set(edits.map(({ file }) => file))])('the breaks of %s meet a text that is there once', (file) => {
  const text = readFileSync(file, 'utf8');
  for (const edit of edits.filter((one) => one.file === file)) {
    expect(edited(text, edit)).not.toBe(text);
  }
});

it('an edit of a text that is not there, or there twice, is refused', () => {
  const edit: Edit = { file: 'x.ts', from: 'a', to: 'b' };
  expect(edited('-a-', edit)).toBe('-b-');
  expect(() => edited('-', edit)).toThrow('x.ts exactly once');
  expect(() => edited('-a-a-', edit)).toThrow('x.ts exactly once');
});

it('a name stands for the titles of its cases, letter by letter', () => {
  const pattern = new RegExp(`^${patternOf('is created (%s), and $1.')}`);
  expect(pattern.test('is created (by #id), and $1.')).toBe(true);
  expect(pattern.test('is created (by #id), and $1!')).toBe(false);
});
