import '../../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Outbox } from '../../../../../core/notifications/delivery/outbox.ts';
import { listen } from '../../../../contract/notifications/listener.ts';
import { withClock } from '../../../clock.ts';
import { config } from '../../../config.ts';
import { withMedplum } from '../../../medplum.ts';
import { changeSubscription, channelTo, type Given } from '../outboxes.ts';
import { withDeliveries } from './deliveries.ts';

const medplum = withMedplum();
const { endpoint, request, withEvents, deliver, state, told, numbers } = withDeliveries(medplum);

describe('an event that cannot be delivered', () => {
  it('is tried again after a second, because most failures are brief', async () => {
    const subscribed = await withEvents(1);
    const replies = [503, 200];
    endpoint().reply = (response) => response.writeHead(replies.shift() ?? 500).end();
    await deliver(subscribed);
    expect(numbers()).toEqual(['1', '1']);
    expect(told()[1]).toEqual(told()[0]);
    expect((await state(subscribed)).outbox).toMatchObject({ status: 'accepted', delivered: 1, attempts: 0 });
  });

  it.each<[string, number, Partial<Outbox>]>([
    ['at once if it was slow to fail', 1_000, { attempts: 1, delivered: 0 }],
    ['at once if an attempt before has failed', 0, { attempts: 2, delivered: 0 }],
  ])('is not tried again %s', async (_, milliseconds, expected) => {
    const attempts = (expected.attempts ?? 0) - 1;
    const subscribed = await withEvents(2, { outbox: { attempts } });
    const before = Date.now();
    await withClock(async (skip) => {
      endpoint().reply = (response) => {
        skip(milliseconds);
        response.writeHead(503).end();
      };
      await deliver(subscribed);
    });
    expect(numbers()).toEqual(['1']);
    const { subscription, outbox } = await state(subscribed);
    const error = 'The endpoint answered with status 503.';
    expect(outbox).toMatchObject({ ...expected, status: 'on-hold', error });
    expect(outbox.until).toBeGreaterThanOrEqual(before + config.notifications.retryAfter * 1000);
    expect(subscription.status).toBe('active');
  });

  it('brings the Subscription to error at last', async () => {
    const subscribed = await withEvents(1, { outbox: { attempts: config.notifications.maxAttempts - 1 } });
    endpoint().reply = 503;
    await deliver(subscribed);
    const { subscription, outbox } = await state(subscribed);
    const error = 'The endpoint answered with status 503.';
    expect([subscription.status, subscription.error]).toEqual(['error', error]);
    expect(outbox).toMatchObject({ status: 'failed', error, delivered: 0 });
  });
});

describe('nothing is sent any more', () => {
  it.each<[string, Given, object]>([
    ['that was switched off', { status: 'off' }, { status: 'off' }],
    ['whose end has come', { changes: { end: '2026-01-01T00:00:00Z' } }, { status: 'off' }],
    ['that is in error', { status: 'error' }, { status: 'error', reason: 'The Subscription is in error.' }],
    [
      'whose error is known',
      { status: 'error', changes: { error: 'It fails.' } },
      { status: 'error', reason: 'It fails.' },
    ],
  ])('for a Subscription %s', async (_, given, { status, reason }: { status?: string; reason?: string }) => {
    const changes = { channel: channelTo(endpoint().url), ...given.changes };
    const subscribed = await withEvents(1, { ...given, changes });
    await deliver(subscribed);
    expect(told()).toEqual([]);
    const { subscription, outbox } = await state(subscribed);
    expect(subscription.status).toBe(status);
    expect(outbox).toMatchObject({ status: status === 'off' ? 'cancelled' : 'failed', error: reason });
  });
});

it.each([200, 500])(
  'a new endpoint gets a handshake, whatever the former one answers to its own then: %i',
  async (status) => {
    const next = await listen();
    const subscribed = await request({ status: 'requested' });
    endpoint().reply = async (response) => {
      await changeSubscription(medplum(), subscribed, { channel: channelTo(next.url) });
      response.writeHead(status).end();
    };
    await deliver(subscribed);
    await deliver(subscribed);
    await next.close();
    expect(next.received).toHaveLength(1);
    expect((await state(subscribed)).subscription.status).toBe('active');
  },
);
