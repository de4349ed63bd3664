import { expect, test } from '@jest/globals';
import { wholeNumber } from '../../../scripts/cli/whole-number.ts';

test('a whole number within its bounds is read', () => {
  const read = wholeNumber(1, 100);
  expect(['1', '42', '100'].map(read)).toEqual([1, 42, 100]);
  expect([wholeNumber(0)('0'), wholeNumber(0)('1000000')]).toEqual([0, 1_000_000]);
});

test.each(['0', '101', '-1', '1.5', '1e2', '', ' ', 'many'])('%j is refused, with what is allowed', (text) => {
  expect(() => wholeNumber(1, 100)(text)).toThrow('Give a whole number from 1 to 100.');
});

test.each(['0', 'many', '99999999999999999999'])('%j is refused where only the least is given', (text) => {
  expect(() => wholeNumber(1)(text)).toThrow('Give a whole number, 1 or more.');
});
