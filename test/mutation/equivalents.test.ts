import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { equivalents, isEquivalent, placeOf } from './equivalents.ts';

const inWords = ({ file, line, from, to }: (typeof equivalents)[number]): string => [file, line, from, to].join(' | ');

test('each equivalent mutant is about a line that is still there', () => {
  const gone = equivalents.filter(({ file, line, from }) => {
    const lines = readFileSync(file, 'utf8').split('\n');
    return !lines.some((one) => one.trim() === line && one.includes(from));
  });
  expect(gone.map(inWords)).toEqual([]);
});

test('each can be told from the others of its line', () => {
  expect(equivalents.filter(({ line, from }) => line.split(from).length !== 2).map(inWords)).toEqual([]);
});

test('each is listed once, changes something, and says why nothing behaves differently', () => {
  expect(new Set(equivalents.map(inWords)).size).toBe(equivalents.length);
  expect(equivalents.filter(({ from, to, reason }) => from === to || reason.length < 10)).toEqual([]);
});

test('a mutant is found again although lines above it have changed', () => {
  const [known] = equivalents;
  const { file = '', line = '', from = '', to = '' } = known ?? {};
  const start = { line: 2, column: 4 + line.indexOf(from) };
  const mutant = {
    ...{ id: '1', fileName: file, mutatorName: 'x', replacement: to },
    location: { start, end: { line: 2, column: start.column + from.length } },
  };
  const source = `\n\n    ${line}\n`;
  expect(placeOf(mutant.location, source)).toEqual({ line, from });
  expect(isEquivalent(mutant, source)).toBe(true);
  expect(isEquivalent({ ...mutant, replacement: `${to} ` }, source)).toBe(false);
  expect(isEquivalent({ ...mutant, fileName: 'core/other.ts' }, source)).toBe(false);
});
