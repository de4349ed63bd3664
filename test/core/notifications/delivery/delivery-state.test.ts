import { describe, expect, test } from '@jest/globals';
import type { Subscription } from '@medplum/fhirtypes';
import {
  abandoned,
  ended,
  failed,
  followed,
  isDue,
  isHeartbeatDue,
  mustStart,
  requestDelivery,
  restarted,
  sent,
  waitAfter,
  withNewEvents,
} from '../../../../core/notifications/delivery/delivery-state.ts';
import { noOutboxes, type Outbox, withOutbox } from '../../../../core/notifications/delivery/outbox.ts';
import { begin, config, outbox, subscription } from '../support.ts';

const settings = config.notifications;

const rowOf = (...all: readonly Partial<Outbox>[]) =>
  all.reduce<ReturnType<typeof noOutboxes>>(
    (row, more, index) => withOutbox(row, `s${index}`, { ...outbox, ...more }),
    noOutboxes('portal'),
  );

describe('an outbox', () => {
  test.each<[Outbox['status'], Outbox['status']]>([
    ['accepted', 'ready'],
    ['ready', 'ready'],
    ['on-hold', 'on-hold'],
    ['failed', 'failed'],
  ])('that is %s is %s with new events', (status, expected) => {
    expect(withNewEvents({ ...outbox, status, events: 2 }, 3)).toMatchObject({ status: expected, events: 5 });
  });

  test('is done with its last event, and nothing is wrong any more', () => {
    const failing = { ...outbox, events: 2, attempts: 3, error: '503', until: begin, status: 'on-hold' as const };
    expect(sent(failing, 1, begin)).toMatchObject({ status: 'ready', delivered: 1, attempts: 0, sent: begin });
    expect(sent(failing, 2, begin)).toMatchObject({ status: 'accepted', error: undefined, until: undefined });
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

  test('that is requested again listens anew only if it was over', () => {
    expect(restarted({ ...outbox, status: 'failed', attempts: 9 }, begin + 5)).toMatchObject({
      status: 'ready',
      attempts: 0,
      since: begin,
    });
    expect(restarted(ended(outbox), begin + 5)).toMatchObject({ since: begin + 5 });
  });

  test.each<[Partial<Outbox>, boolean]>([
    [{ sent: begin - 60_000, heartbeat: 60 }, true],
    [{ sent: begin - 59_999, heartbeat: 60 }, false],
    [{ sent: begin - 60_000 }, false],
    [{ heartbeat: 60 }, false],
  ])('a heartbeat with %j is due: %p', (changes, expected) => {
    expect(isHeartbeatDue({ ...outbox, ...changes }, begin)).toBe(expected);
    expect(isDue({ ...outbox, ...changes }, begin)).toBe(expected);
  });

  test.each<[Subscription['status'], Outbox['status'], Outbox['status'] | undefined]>([
    ['requested', 'ready', undefined],
    ['requested', 'accepted', 'ready'],
    ['requested', 'on-hold', 'ready'],
    ['requested', 'failed', 'ready'],
    ['requested', 'cancelled', 'ready'],
    ['active', 'accepted', undefined],
    ['active', 'on-hold', undefined],
    ['active', 'failed', 'ready'],
    ['active', 'cancelled', 'ready'],
    ['error', 'ready', 'failed'],
    ['error', 'failed', undefined],
    ['error', 'cancelled', undefined],
    ['off', 'accepted', 'cancelled'],
    ['off', 'failed', 'cancelled'],
    ['off', 'cancelled', undefined],
  ])('follows a Subscription set to %s: one that is %s becomes %p', (status, before, after) => {
    const set = subscription({ status, error: 'given up' });
    const next = followed(set, { ...outbox, status: before }, begin);
    expect(next?.outbox.status).toBe(after);
    const isRequested = status === 'active' && after === 'ready';
    expect(next?.subscription).toEqual(isRequested ? subscription({ status: 'requested' }) : undefined);
    expect(next && followed(next.subscription ?? set, next.outbox, begin)).toBeUndefined();
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

describe('the outboxes of a subscriber', () => {
  test.each<[string, ReturnType<typeof rowOf>, boolean]>([
    ['nothing is due', rowOf({}, { status: 'on-hold', until: begin + 1 }), false],
    ['an attempt is due', rowOf({}, { status: 'on-hold', until: begin }), true],
    ['something has just been asked for', rowOf({ status: 'ready' }), false],
    ['a delivery is under way', { ...rowOf({ end: begin - 1 }), lease: { id: 'one', until: begin + 1 } }, false],
    ['a delivery has died', { ...rowOf({}), lease: { id: 'one', until: begin } }, true],
  ])('if %s, one must be started: %p', (_, row, expected) => {
    expect(mustStart(row, begin, begin)).toBe(expected);
  });
});
