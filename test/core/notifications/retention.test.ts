import { expect, test } from '@jest/globals';
import { oldEventsQuery, recordedSince } from '../../../core/notifications/delivery/retention.ts';
import { begin, config } from './support.ts';

const DAY = 24 * 60 * 60_000;

test('no change whose event may have been deleted becomes an event again', () => {
  const query = new URLSearchParams(oldEventsQuery(begin, 100, config).split('?')[1]);
  const deletedBefore = Date.parse(query.get('sent')?.slice(2) ?? '');
  expect(recordedSince(0, begin, config)).toBeGreaterThan(deletedBefore);
  expect(recordedSince(begin - DAY, begin, config)).toBe(begin - DAY);
});

test('only delivered events are deleted', () => {
  expect(oldEventsQuery(begin, 100, config)).toContain('status=completed');
});
