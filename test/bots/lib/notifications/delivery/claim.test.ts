import '../../../config.ts';
import { describe, expect, it } from '@jest/globals';
import {
  changeOutbox,
  changeStatus,
  claimOutbox,
  giveUp,
  record,
} from '../../../../../bots/lib/notifications/delivery/claim.ts';
import { LEASE } from '../../../../../core/notifications/delivery/delivery-state.ts';
import type { Outbox } from '../../../../../core/notifications/delivery/outbox.ts';
import { withMedplum } from '../../../medplum.ts';
import * as stored from '../outboxes.ts';

const medplum = withMedplum();

const subscribe = (outbox: Partial<Outbox> = { status: 'ready', events: 1 }) => stored.subscribe(medplum(), { outbox });
const claim = (id: string) => claimOutbox(medplum().medplum, id);
const isWrite = ({ entries }: { entries: readonly string[] }): boolean => entries.some((one) => one.startsWith('PUT'));

/** Does something before the first writes of a Bot. */
function beforeWriting(act: () => Promise<unknown>, times = 1): void {
  let left = times;
  medplum().interfere(async (asked) => {
    if (isWrite(asked) && left > 0) {
      left -= 1;
      await act();
    }
    return undefined;
  });
}

async function claimed() {
  const subscribed = await subscribe();
  const found = await claim(subscribed.id);
  if (!found) {
    throw new Error('Not claimed.');
  }
  return { subscribed, found };
}

const [past, future] = [Date.now() - 1_000, Date.now() + 24 * 60 * 60_000];

describe('an outbox is claimed', () => {
  it('by only one delivery', async () => {
    const { id } = await subscribe();
    const first = await claim(id);
    expect(first?.stored.outbox.status).toBe('in-progress');
    expect(await claim(id)).toBeUndefined();
  });

  it.each<[string, Partial<Outbox>]>([
    ['something is to be sent', { status: 'ready' }],
    ['something waits for other deliveries of the subscriber', { status: 'received' }],
    ['the next attempt is due', { status: 'on-hold', until: past }],
    ['its delivery has died', { status: 'in-progress', until: past, lease: 'of one that died' }],
  ])('when %s', async (_, outbox) => {
    const subscribed = await subscribe(outbox);
    const before = Date.now();
    const found = await claim(subscribed.id);
    const state = await stored.stateOf(medplum(), subscribed);
    expect(state.outbox).toMatchObject({ status: 'in-progress', lease: found?.lease });
    expect(found?.stored.outbox).toEqual(state.outbox);
    expect(state.outbox.until).toBeGreaterThanOrEqual(before + LEASE);
    expect(found?.settings.topic).toBe('appointment-update');
  });

  it.each<[string, Partial<Outbox>]>([
    ['everything is delivered', { status: 'accepted' }],
    ['its Subscription is in error', { status: 'failed' }],
    ['its Subscription is over', { status: 'cancelled' }],
    ['the time for the next attempt has not come', { status: 'on-hold', until: future }],
    ['another delivery has it', { status: 'in-progress', until: future, lease: 'of another' }],
  ])('not when %s', async (_, outbox) => {
    const { id } = await subscribe(outbox);
    expect(await claim(id)).toBeUndefined();
  });

  it('not if there is none', async () => {
    expect(await claim('9a0c0f3e-0000-4000-8000-000000000000')).toBeUndefined();
  });

  it('with the events that are recorded at the same moment', async () => {
    const subscribed = await subscribe();
    beforeWriting(() => stored.changeOutbox(medplum(), subscribed, { events: 2 }));
    expect((await claim(subscribed.id))?.stored.outbox).toMatchObject({ status: 'in-progress', events: 2 });
  });

  it('not if another delivery is faster', async () => {
    const subscribed = await subscribe();
    beforeWriting(() => stored.changeOutbox(medplum(), subscribed, { status: 'in-progress', until: future }));
    expect(await claim(subscribed.id)).toBeUndefined();
  });

  it('not after fifty attempts in which others were faster', async () => {
    const { id } = await subscribe();
    medplum().interfere((asked) => (isWrite(asked) ? { status: 412, body: {} } : undefined));
    expect(await claim(id)).toBeUndefined();
  });

  it('and given up if its Subscription asks for something that is not supported', async () => {
    const subscribed = await subscribe();
    const { channel } = subscribed.subscription;
    await stored.changeSubscription(medplum(), subscribed, { channel: { ...channel, type: 'email' } });
    expect(await claim(subscribed.id)).toBeUndefined();
    const { subscription, outbox } = await stored.stateOf(medplum(), subscribed);
    const error = 'The Subscription asks for something that the service does not support.';
    expect([subscription.status, subscription.error]).toEqual(['error', error]);
    expect(outbox).toMatchObject({ status: 'failed', error });
    expect(outbox.lease).toBeUndefined();
  });

  it('unless Medplum does not answer', async () => {
    const { id } = await subscribe();
    medplum().interfere(() => 'not-connected');
    await expect(claim(id)).rejects.toThrow('The FHIR server could not be read.');
    medplum().interfere((asked) => (isWrite(asked) ? 'no-answer' : undefined));
    await expect(claim(id)).rejects.toThrow(`The outbox of Subscription/${id} could not be written: lost.`);
  });
});

describe('a claimed outbox', () => {
  it('is written with its claim', async () => {
    const { subscribed, found } = await claimed();
    const next = await record(
      found,
      changeOutbox((one) => ({ ...one, delivered: 1 })),
    );
    const { outbox, task } = await stored.stateOf(medplum(), subscribed);
    expect(outbox).toMatchObject({ status: 'in-progress', delivered: 1, lease: found.lease });
    expect(next).toMatchObject({ lease: found.lease, settings: found.settings, stored: { outbox } });
    expect(next?.stored.task.meta?.versionId).toBe(task.meta?.versionId);
  });

  it('is not written if nothing is left to write', async () => {
    const { found } = await claimed();
    expect(await record(found, () => undefined)).toBeUndefined();
  });

  it('is not written once another delivery has taken it over', async () => {
    const { subscribed, found } = await claimed();
    await stored.changeOutbox(medplum(), subscribed, { lease: 'of another' });
    const taken = await stored.stateOf(medplum(), subscribed);
    expect(
      await record(
        found,
        changeOutbox((one) => ({ ...one, delivered: 1 })),
      ),
    ).toBeUndefined();
    expect((await stored.stateOf(medplum(), subscribed)).outbox).toEqual(taken.outbox);
  });

  it('keeps what was recorded meanwhile, and follows its Subscription', async () => {
    const { subscribed, found } = await claimed();
    beforeWriting(async () => {
      await stored.changeOutbox(medplum(), subscribed, { events: 7 });
      await stored.changeSubscription(medplum(), subscribed, { end: '2099-01-01T00:00:00Z' });
    });
    const next = await record(
      found,
      changeOutbox((one) => ({ ...one, delivered: 1 })),
    );
    expect(next?.stored.outbox).toMatchObject({ events: 7, delivered: 1 });
    expect(next?.settings.end).toBe(Date.parse('2099-01-01T00:00:00Z'));
  });

  it('keeps what its Subscription asked for while that can no longer be read', async () => {
    const { subscribed, found } = await claimed();
    beforeWriting(async () => {
      await stored.changeOutbox(medplum(), subscribed, { events: 7 });
      await stored.changeSubscription(medplum(), subscribed, { criteria: 'Observation' });
    });
    const next = await record(
      found,
      changeOutbox((one) => one),
    );
    expect(next?.stored.settings).toBeUndefined();
    expect(next?.settings).toEqual(found.settings);
  });

  it('and its Subscription are given up together', async () => {
    const { subscribed, found } = await claimed();
    await record(found, giveUp('It fails.'));
    const { subscription, outbox } = await stored.stateOf(medplum(), subscribed);
    expect([subscription.status, subscription.error]).toEqual(['error', 'It fails.']);
    expect(outbox).toMatchObject({ status: 'failed', error: 'It fails.' });
  });
});

it('a new status of a Subscription comes without the error of the one before', async () => {
  const { found } = await claimed();
  const { subscription, outbox } = found.stored;
  const failed = { ...subscription, status: 'error' as const, error: 'It fails.' };
  expect(changeStatus(failed, outbox, 'active')).toEqual({
    outbox,
    subscription: { ...subscription, status: 'active' },
  });
});
