import { describe, expect, test } from '@jest/globals';
import {
  abandoned,
  failed,
  requestDelivery,
  waitAfter,
  withNewEvents,
} from '../../../../core/notifications/delivery/delivery-state.ts';
import type { Outbox } from '../../../../core/notifications/delivery/outbox.ts';
import { begin, config, outbox } from '../support.ts';

const settings = config.notifications;

describe('an outbox', () => {
  test.each<[Outbox['status'], Outbox['status']]>([
    ['accepted', 'ready'],
    ['ready', 'ready'],
    ['on-hold', 'on-hold'],
    ['failed', 'failed'],
  ])('that is %s is %s with new events', (status, expected) => {
    expect(withNewEvents({ ...outbox, status, events: 2 }, 3)).toMatchObject({ status: expected, events: 5 });
  });

  test('waits twice as long after each failure, and at last is given up', () => {
    expect(failed(outbox, '503', begin, settings)).toMatchObject({
      status: 'on-hold',
      attempts: 1,
      error: '503',
      until: begin + waitAfter(1, settings),
    });
    expect(waitAfter(2, settings)).toBe(2 * waitAfter(1, settings));
    expect(waitAfter(60, settings)).toBe(8 * 60 * 60_000);
    const last = failed({ ...outbox, attempts: settings.maxAttempts - 1 }, '503', begin, settings);
    expect(last).toMatchObject({ status: 'failed', attempts: settings.maxAttempts });
    expect(abandoned(outbox, 'gone')).toMatchObject({ status: 'failed', error: 'gone' });
    expect(abandoned(outbox, 'x'.repeat(10_000)).error).toHaveLength(300);
  });

  test.each<[Parameters<typeof requestDelivery>[0], Partial<Outbox>, string]>([
    ['off', {}, 'ended'],
    ['active', { status: 'cancelled' }, 'ended'],
    ['error', { status: 'failed' }, 'requested'],
    ['active', {}, 'unchanged'],
    ['active', { status: 'ready' }, 'unchanged'],
    ['active', { status: 'on-hold' }, 'started'],
    ['requested', { status: 'accepted' }, 'started'],
    ['active', { events: 1 }, 'started'],
  ])('of one that is %s with %j a delivery that is asked for is %s', (status, changes, kind) => {
    expect(requestDelivery(status, { ...outbox, ...changes }, begin).kind).toBe(kind);
  });
});
