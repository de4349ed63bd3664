import { expect, test } from '@jest/globals';
import { artefactUri } from '../../../../core/config/config.ts';
import {
  allOutboxesQuery,
  leftoverQueries,
  oldEventsQuery,
  recordedSince,
} from '../../../../core/notifications/delivery/retention.ts';
import { at, begin, config } from '../support.ts';

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

/** A moment that is a day longer ago than events are kept. */
const longAgo = at(-(config.notifications.keepEventsDays + 1) * 24 * 60 * 60);

test('old events are found, the oldest first', () => {
  const [type, query] = oldEventsQuery(begin, 100, config).split('?');
  expect(type).toBe('Communication');
  expect([...new URLSearchParams(query)]).toEqual([
    ['identifier', `${artefactUri(config, 'LocalEvent')}|`],
    ['status', 'completed'],
    ['sent', `lt${longAgo}`],
    ['_sort', 'sent'],
    ['_count', '100'],
    ['_fields', 'id'],
  ]);
});

test('of a deleted Subscription everything goes; of one that is off, what has no time and what is old', () => {
  expect(leftoverQueries.deleted('s1', begin, 50, config)).toEqual([
    'Communication?part-of=Subscription/s1&_count=50&_fields=id',
  ]);
  expect(leftoverQueries.off('s1', begin, 50, config)).toEqual([
    'Communication?part-of=Subscription/s1&sent:missing=true&_count=50&_fields=id',
    `Communication?part-of=Subscription/s1&sent=lt${longAgo}&_count=50&_fields=id`,
  ]);
});

test('outboxes are found page by page', () => {
  const code = encodeURIComponent(`${artefactUri(config, 'LocalTask')}|notify`);
  expect(allOutboxesQuery(20, 40, config)).toBe(`Task?code=${code}&_sort=_id&_count=20&_offset=40`);
});
