import { expect, test } from '@jest/globals';
import { parseQuery } from '../../../gateway/search/rewrite.ts';
import { upcomingOnly } from '../../../gateway/search/upcoming.ts';
import type { ServedTypeName } from '../../../gateway/served-types.ts';

const now = Date.parse('2027-01-01T00:00:00Z');

test.each<[ServedTypeName, string, boolean]>([
  ['Slot', 'status=free', true],
  ['Slot', 'schedule=Schedule/1&status=free', true],
  ['Slot', 'status=free&schedule.start=2027', true],
  ['Slot', 'status=free&start=ge2026-01-01', false],
  ['Slot', 'start:missing=true&status=free', false],
  ['Slot', 'status=busy', false],
  ['Slot', 'status=free,busy', false],
  ['Slot', 'identifier=free', false],
  ['Slot', '', false],
  ['Appointment', 'status=free', false],
])('%s?%s shows no Slots of the past: %s', (type, query, isAdded) => {
  const params = parseQuery(query);
  const expected = isAdded ? [{ name: 'start', value: 'ge2027-01-01T00:00:00.000Z' }] : [];
  expect(upcomingOnly(type, params, params, now)).toEqual(expected);
});

test('the status is that which Medplum is asked for, the start that which was sent', () => {
  const sent = parseQuery('status=|free&start=2026');
  const rewritten = parseQuery('status=free&_filter=x');
  expect(upcomingOnly('Slot', sent, rewritten, now)).toEqual([]);
  expect(upcomingOnly('Slot', sent.slice(0, 1), rewritten, now)).toHaveLength(1);
});
