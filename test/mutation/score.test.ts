import { expect, test } from '@jest/globals';
import { shareText } from './score.ts';
import { settingsFrom } from './settings.ts';

test('the share of a sample has an interval; that of all mutants is exact', () => {
  // Values of R: prop.test(90, 100, correct = FALSE)
  expect(shareText({ tried: 100, killed: 90, mutants: 1000 })).toBe('90.0 %, 95 % confidence 82.6–94.5 %');
  expect(shareText({ tried: 200, killed: 190, mutants: 200 })).toBe('95.0 %');
});

test.each(['some', '0'])('SAMPLE=%s is refused', (SAMPLE) => {
  expect(() => settingsFrom({ SAMPLE })).toThrow(`SAMPLE must be a positive number or "all", not ${SAMPLE}`);
});
