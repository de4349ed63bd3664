import '../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { AccessPolicy, Subscription } from '@medplum/fhirtypes';
import { readOutbox, type SubscriptionOutbox } from '../../../bots/lib/notifications/outbox-store.ts';
import { handler } from '../../../bots/notifications/write-subscription.ts';
import { portal } from '../../core/notifications/support.ts';
import { config } from '../config.ts';
import {
  batch,
  forgetOutboxes,
  storedSubscription,
  subscribe,
  toPortal,
  writes,
} from '../lib/notifications/events/fixtures.ts';
import { withMedplum } from '../medplum.ts';
import { administrator, type Caller, codesIn, eventOf, knownCaller, reader, textOf } from './callers.ts';

const medplum = withMedplum();
afterEach(() => forgetOutboxes(medplum()));

const aCaller = (resource?: AccessPolicy['resource']) => knownCaller(medplum(), resource);

const call = (caller: Caller, input: unknown) => handler(medplum().medplum, eventOf(caller, input));

describe('a change', () => {
  /** A Subscription of a caller. */
  async function owned(given: Parameters<typeof subscribe>[1] = {}): Promise<[SubscriptionOutbox, Caller]> {
    const caller = await aCaller();
    return [await subscribe(medplum(), { ...given, owner: caller.id }), caller];
  }

  const update = (caller: Caller, { subscription }: SubscriptionOutbox, resource: unknown, version?: unknown) =>
    call(caller, { interaction: 'update', id: subscription.id, resource, version });

  const now = async ({ subscription }: SubscriptionOutbox) => readOutbox(medplum().medplum, subscription);

  it('that redirects notifications nowhere keeps the Subscription active, and its delivery going', async () => {
    const [stored, caller] = await owned({ outbox: { events: 3, status: 'on-hold', attempts: 2, until: 1e12 } });
    const answer = await update(caller, stored, toPortal({ status: 'active', reason: 'Changed' }));
    expect(answer).toMatchObject({ id: stored.subscription.id, status: 'active', reason: 'Changed' });
    const { outbox, subscription } = (await now(stored)) ?? {};
    expect(outbox).toMatchObject({ status: 'on-hold', events: 3, attempts: 2 });
    expect(subscription?.reason).toBe('Changed');
  });

  it.each<[string, object, Subscription]>([
    ['asks for it', {}, toPortal()],
    [
      'leads elsewhere',
      {},
      { ...toPortal({ status: 'active' }), channel: { ...toPortal().channel, endpoint: 'https://8.8.4.4/' } },
    ],
    ['is of one in error', { more: { status: 'error', error: 'Failed' } }, toPortal({ status: 'active' })],
  ])('that %s requests the Subscription again, with a handshake', async (_, given, sent) => {
    const waiting = { status: 'on-hold' as const, attempts: 5, since: 1_000, until: Date.parse('2040-01-01') };
    const [stored, caller] = await owned({ outbox: waiting, ...given });
    expect(await update(caller, stored, sent)).toMatchObject({ status: 'requested' });
    expect((await now(stored))?.outbox).toMatchObject({ status: 'ready', attempts: 0, since: 1_000 });
  });

  it('of what is requested still is a handshake, too', async () => {
    const [stored, caller] = await owned({ more: { status: 'requested' }, outbox: { status: 'on-hold', until: 1e12 } });
    expect(await update(caller, stored, toPortal({ status: 'active' }))).toMatchObject({ status: 'requested' });
    expect((await now(stored))?.outbox.status).toBe('ready');
  });

  it.each<[string, Subscription]>([
    ['says so', toPortal({ status: 'off' })],
    ['has an end that is over', toPortal({ end: '2020-01-01T00:00:00Z' })],
  ])('that %s ends the Subscription', async (_, sent) => {
    const [stored, caller] = await owned();
    expect(await update(caller, stored, sent)).toMatchObject({ status: 'off' });
    expect((await now(stored))?.outbox.status).toBe('cancelled');
  });

  it('starts one anew that had ended: it takes a place, and what happened meanwhile is no event', async () => {
    const [stored, caller] = await owned({ more: { status: 'off' }, outbox: { status: 'cancelled' } });
    const begin = Date.now();
    expect(await update(caller, stored, toPortal())).toMatchObject({ status: 'requested' });
    const { outbox } = (await now(stored)) ?? {};
    expect(outbox?.status).toBe('ready');
    expect(outbox?.since).toBeGreaterThanOrEqual(begin);
  });

  it('of one that had ended, and stays so, takes no place', async () => {
    const [stored, caller] = await owned({ more: { status: 'off' }, outbox: { status: 'cancelled' } });
    expect(await update(caller, stored, toPortal({ status: 'off' }))).toMatchObject({ status: 'off' });
  });

  it('starts none anew if the subscriber has as many as it may', async () => {
    const [stored, caller] = await owned({ more: { status: 'off' }, outbox: { status: 'cancelled' } });
    const all = Array.from({ length: config.notifications.maxSubscriptions }, () =>
      storedSubscription(caller.id, toPortal()),
    );
    await batch(
      medplum(),
      all.map((resource) => ({ request: { method: 'POST', url: 'Subscription' }, resource })),
    );
    expect(codesIn(await update(caller, stored, toPortal()))).toEqual(['subscriptions-exceeded']);
    expect((await now(stored))?.subscription.status).toBe('off');
  });

  it('starts one anew of a subscriber whom the service does not know', async () => {
    const caller = await medplum().addClient('New', reader);
    const given = { more: { status: 'off' }, outbox: { status: 'cancelled' as const }, owner: caller.id };
    const stored = await subscribe(medplum(), given);
    expect(await update(caller, stored, toPortal())).toMatchObject({ status: 'requested' });
  });

  it('by its owner is made with the rights that it has now; by an administrator they stay as they were', async () => {
    const readable = ['Appointment?status=cancelled'];
    const [stored, caller] = await owned({ row: { readable } });
    const sent = toPortal({ status: 'active' });
    expect(await update(administrator, stored, sent)).toMatchObject({ status: 'active' });
    expect(await now(stored)).toMatchObject({ row: { outboxes: { subscriber: caller.id, readable } } });
    await update(caller, stored, sent);
    expect((await now(stored))?.row.outboxes.readable).toEqual(['Appointment']);
  });

  it.each(['update', 'delete'])('(%s) is forbidden to others who may see it', async (interaction) => {
    const stored = await subscribe(medplum());
    const { id } = stored.subscription;
    const answer = await call(await aCaller(), { interaction, id, resource: toPortal() });
    expect([answer.id, textOf(answer)]).toEqual(['forbidden', expect.stringContaining('has another owner')]);
    expect((await now(stored))?.subscription.status).toBe('active');
  });

  it.each(['update', 'delete'])(
    '(%s) of a Subscription that the caller does not see finds none',
    async (interaction) => {
      const { subscription } = await subscribe(medplum());
      const caller = await aCaller([{ resourceType: 'Appointment' }]);
      const answer = await call(caller, { interaction, id: subscription.id, resource: toPortal() });
      expect(answer.id).toBe('not-found');
    },
  );

  it.each([undefined, 17, 'a b', ''])('of what is no id finds none: %j', async (id) => {
    expect((await call(administrator, { interaction: 'delete', id })).id).toBe('not-found');
  });

  it('of a Subscription without an outbox finds none', async () => {
    const { id } = await medplum().create(storedSubscription(portal, toPortal()));
    expect((await call(administrator, { interaction: 'delete', id })).id).toBe('not-found');
  });

  it('is tried again if a delivery writes the outbox at the same moment', async () => {
    const [stored, caller] = await owned();
    let isFirst = true;
    medplum().interfere(async (asked) => {
      if (isFirst && writes(asked)) {
        isFirst = false;
        await medplum().change(stored.row.task, { lastModified: new Date().toISOString() });
      }
      return undefined;
    });
    const answer = await update(caller, stored, toPortal({ status: 'active', reason: 'Changed' }));
    expect(answer).toMatchObject({ reason: 'Changed' });
  });

  it('is refused if Medplum does not answer', async () => {
    const [stored, caller] = await owned();
    medplum().interfere((asked) => (writes(asked) ? 'no-answer' : undefined));
    expect(codesIn(await update(caller, stored, toPortal()))).toEqual(['upstream-unavailable']);
  });

  it('is answered by what was there before if Medplum says nothing of it', async () => {
    const [stored, caller] = await owned();
    const body = { resourceType: 'Bundle', type: 'transaction-response', entry: [{}] };
    medplum().interfere((asked) => (writes(asked) ? { status: 200, body } : undefined));
    const answer = await update(caller, stored, toPortal({ status: 'active', reason: 'Changed' }));
    expect(answer).toMatchObject({ id: stored.subscription.id, reason: 'Test' });
  });
});
