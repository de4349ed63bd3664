import { expect, test } from '@jest/globals';
import type { Measurement } from '../../../scripts/bench/measure.ts';
import { parseReport, type Report, remarksOn, rowOf, tableOf } from '../../../scripts/bench/report.ts';
import { circumstances } from './circumstances.ts';

const round = (...durations: number[]): Measurement => ({ durations, elapsed: 1_000, conflicts: 0, failures: 1 });

const reportOf = (way: string, rounds: Measurement[], more: Partial<Report> = {}): Report => ({
  circumstances,
  load: [0.1, 1.9],
  bookings: 4,
  rounds: rounds.length,
  rows: [rowOf(1, 'bare', [round(10, 10)]), rowOf(1, way, rounds)],
  ...more,
});

test('a row has the figures of all rounds together, and those of the quickest and the slowest', () => {
  expect(rowOf(8, 'gateway', [round(10, 12), round(20, 22, 24)])).toEqual({
    callers: 8,
    way: 'gateway',
    p50: 20,
    p95: 24,
    perSecond: 2.5,
    spread: { p50: [12, 22], perSecond: [2, 3] },
    conflicts: 0,
    failures: 2,
  });
});

test('a table tells how each way compares with the bare transaction', () => {
  const { head, rows } = tableOf(reportOf('gateway', [round(15, 15)]));
  expect(rows.map((row) => row[head.indexOf('p50 × bare')])).toEqual(['1.00', '1.50']);
});

test('compared with an earlier report it tells what has changed by more than the rounds differ', () => {
  const before = reportOf('gateway', [round(20, 20), round(30, 30)]);
  const changes = (...rounds: Measurement[]) => tableOf(reportOf('gateway', rounds), before).rows[1]?.at(-2);
  expect(changes(round(10, 10))).toBe('0.33');
  expect(changes(round(10, 10), round(24, 24))).toBe('0.80 (within the spread)');
});

test('a way that was not measured before has nothing to be compared with', () => {
  const before = reportOf('bot', [round(20)]);
  expect(tableOf(reportOf('gateway', [round(10)]), before).rows[1]?.slice(-2)).toEqual(['', '']);
});

test('it says on what was measured, and that the machine was busy or is another one', () => {
  const before = reportOf('gateway', [round(1)], { circumstances: { ...circumstances, bots: 'medplum' } });
  expect(remarksOn(reportOf('gateway', [round(1)])).join('\n')).toContain('Some processor, 2 cores, 24 GB');
  const remarks = remarksOn(reportOf('gateway', [round(1)], { load: [0, 7] }), before);
  expect(remarks.join('\n')).toMatch(/busier than that.*\n.*bots: medplum → gateway/);
});

test('what was printed is read again; anything else is refused', () => {
  const report = reportOf('gateway', [round(1)]);
  expect(parseReport(JSON.stringify(report))).toEqual(report);
  expect(() => parseReport('[]')).toThrow(/not a report of npm run bench/);
});
