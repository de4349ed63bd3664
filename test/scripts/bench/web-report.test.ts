import { expect, test } from '@jest/globals';
import { type WebReport, webRemarks, webRows, webTable } from '../../../scripts/bench/web/report.ts';
import { circumstances } from './circumstances.ts';

const report: WebReport = {
  circumstances,
  browser: '150',
  load: [0.1, 1.9],
  rounds: 3,
  rows: webRows([
    { page: 'portal, times', measure: 'transferred', value: 10 },
    { page: 'portal, times', measure: 'first paint', value: 300 },
    { page: 'portal, times', measure: 'transferred', value: 70.04 },
    { page: 'portal, times', measure: 'transferred', value: 61 },
  ]),
};

test('a row has the median of the rounds, the least and the greatest value, and what the page should need at most', () => {
  expect(report.rows).toEqual([
    { page: 'portal, times', measure: 'transferred', unit: 'kB', median: 61, spread: [10, 70], goal: 60 },
    { page: 'portal, times', measure: 'first paint', unit: 'ms', median: 300, spread: [300, 300] },
  ]);
});

test('the table says where a page needs more than it should', () => {
  const goals = webTable(report).rows.map((row) => row.at(-1));
  expect(goals).toEqual(['≤ 60, missed', '']);
  const fewer = { ...report, rows: webRows([{ page: 'portal, times', measure: 'transferred', value: 60 }]) };
  expect(webTable(fewer).rows[0]?.at(-1)).toBe('≤ 60');
});

test('it says that the machine was busy', () => {
  expect(webRemarks(report).join('\n')).not.toContain('busier');
  expect(webRemarks({ ...report, load: [0.1, 2.1] }).join('\n')).toContain('was busier than that');
});
