import '../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { AccessPolicy, Bundle, Subscription } from '@medplum/fhirtypes';
import type { SubscriptionOutbox } from '../../../bots/lib/notifications/outbox-store.ts';
import { handler } from '../../../bots/notifications/subscription-operations.ts';
import { portal } from '../../core/notifications/support.ts';
import { ahead } from '../clock.ts';
import { config } from '../config.ts';
import {
  conflict,
  forgetOutboxes,
  outboxNow,
  remove,
  storedSubscription,
  subscribe,
  toPortal,
  toWebsockets,
  writes,
} from '../lib/notifications/events/fixtures.ts';
import { withMedplum } from '../medplum.ts';
import { administrator, type Caller, codesIn, eventOf, seeingThoseOf, statesIn, type Told } from './callers.ts';

const medplum = withMedplum();
afterEach(() => forgetOutboxes(medplum()));

const reader = (): Promise<Caller> => medplum().addClient('Reader');

const seeing = (owner: string, more?: AccessPolicy['resource']) => seeingThoseOf(medplum(), owner, more);

const call = (caller: Caller, input: unknown) => handler(medplum().medplum, eventOf(caller, input));

const addressOf = ({ subscription }: SubscriptionOutbox) => `${config.baseUrl}/Subscription/${subscription.id}`;

describe('$status', () => {
  const status = (caller: Caller, input: object = {}) => call(caller, { operation: 'status', ...input });
  const subscriptionsIn = (answer: Told) => new Set(statesIn(answer).map(({ subscription }) => subscription));

  it('of one Subscription tells its state', async () => {
    const stored = await subscribe(medplum(), { outbox: { events: 7 } });
    const now = Date.now();
    const answer = await status(await seeing(portal), { id: stored.subscription.id });
    expect(answer).toMatchObject({ type: 'searchset', total: 1 });
    expect(statesIn(answer)).toEqual([
      {
        subscription: addressOf(stored),
        topic: stored.subscription.criteria,
        status: 'active',
        type: 'query-status',
        'events-since-subscription-start': '7',
      },
    ]);
    const { timestamp = '', id, entry } = answer as Bundle;
    expect(Date.parse(timestamp)).toBeGreaterThanOrEqual(now);
    expect(new Set([`urn:uuid:${id}`, entry?.[0]?.fullUrl]).size).toBe(2);
  });

  it('of one in error tells the reason', async () => {
    const more = { status: 'error', error: 'It answered 500.' };
    const { subscription } = await subscribe(medplum(), { more });
    expect(statesIn(await status(administrator, { id: subscription.id }))).toMatchObject([
      { status: 'error', error: 'It answered 500.' },
    ]);
  });

  it("of somebody else's is not told, nor anything else", async () => {
    const caller = await seeing(portal);
    const { subscription } = await subscribe(medplum(), { owner: 'other' });
    for (const operation of ['status', 'events', 'binding', 'deliver']) {
      expect(await call(caller, { operation, id: subscription.id })).toMatchObject({ id: 'not-found' });
    }
  });

  it('of one that was deleted is gone, and everything else', async () => {
    const { subscription } = await subscribe(medplum());
    await remove(medplum(), subscription);
    for (const operation of ['status', 'events', 'binding', 'deliver']) {
      expect(await call(administrator, { operation, id: subscription.id })).toMatchObject({ id: 'gone' });
    }
  });

  it('of one without an outbox tells nothing', async () => {
    const { id } = await medplum().create<Subscription>(storedSubscription(portal, toPortal()));
    expect(await status(administrator, { id })).toMatchObject({ total: 0 });
    for (const operation of ['events', 'binding', 'deliver']) {
      expect(await call(administrator, { operation, id })).toMatchObject({ id: 'not-found' });
    }
  });

  it("without an id tells of all one's own", async () => {
    const owner = 'asker';
    const all = [await subscribe(medplum(), { owner }), await subscribe(medplum(), { owner })];
    await subscribe(medplum(), { owner: 'other' });
    expect(subscriptionsIn(await status(await seeing(owner)))).toEqual(new Set(all.map(addressOf)));
  });

  it('tells of those that are asked for by id, by status, or by both', async () => {
    const owner = 'chooser';
    const [active, requested, off] = [
      await subscribe(medplum(), { owner }),
      await subscribe(medplum(), { owner, more: { status: 'requested' } }),
      await subscribe(medplum(), { owner, more: { status: 'off' } }),
    ];
    const other = await subscribe(medplum(), { owner: 'other' });
    const caller = await seeing(owner);
    const ids = (...all: readonly SubscriptionOutbox[]) => all.map(({ subscription }) => subscription.id);
    const found = async (input: object) => subscriptionsIn(await status(caller, input));
    const addresses = (...all: readonly SubscriptionOutbox[]) => new Set(all.map(addressOf));
    expect(await found({ ids: ids(active, other) })).toEqual(addresses(active));
    expect(await found({ ids: ids(requested, off) })).toEqual(addresses(requested, off));
    expect(await found({ statuses: ['off', 'active'] })).toEqual(addresses(off, active));
    expect(await found({ ids: ids(active, off), statuses: ['off', 'requested'] })).toEqual(addresses(off));
    expect(await found({ ids: [], statuses: [] })).toEqual(addresses(active, requested, off));
  });

  it('tells nothing to whoever sees none', async () => {
    expect(await status(await seeing('nobody'))).toMatchObject({ resourceType: 'Bundle', total: 0 });
  });

  it('is not known if Medplum does not answer', async () => {
    medplum().interfere(() => 'no-answer');
    expect(codesIn(await status(administrator))).toEqual(['upstream-unavailable']);
    expect(codesIn(await status(administrator, { id: 'a1' }))).toEqual(['upstream-unavailable']);
  });
});

describe('$get-ws-binding-token', () => {
  const binding = (caller: Caller, { subscription }: SubscriptionOutbox) =>
    call(caller, { operation: 'binding', id: subscription.id });

  const toSocket = (status: string, owner = portal) =>
    subscribe(medplum(), {
      owner,
      more: { ...toWebsockets(), status, channel: { ...toWebsockets().channel, type: 'message' } },
    });

  const part = (answer: Told, name: string) =>
    'parameter' in answer ? answer.parameter?.find((one) => one.name === name) : undefined;

  it.each(['active', 'requested'])('gives a token, and the handshake, for one that is %s', async (status) => {
    const stored = await toSocket(status, 'admin');
    const answer = await binding(administrator, stored);
    expect(part(answer, 'token')?.valueString).toEqual(expect.any(String));
    const handshake = part(answer, 'handshake')?.resource as Bundle;
    expect(statesIn(handshake)).toMatchObject([{ subscription: addressOf(stored), type: 'handshake', status }]);
    expect(handshake.entry).toHaveLength(1);
  });

  it.each(['off', 'error'])('gives none for one that is %s', async (status) => {
    const answer = await binding(administrator, await toSocket(status, 'admin'));
    expect(codesIn(answer)).toEqual(['profile-violation']);
    expect(answer).toMatchObject({
      issue: [
        { diagnostics: expect.stringContaining('has ended or is in error'), expression: ['Subscription.status'] },
      ],
    });
  });

  const unsupported = {
    issue: [
      {
        diagnostics: expect.stringContaining('needs the channel type websocket'),
        expression: ['Subscription.channel.type'],
      },
    ],
  };

  it('gives none for one with an endpoint', async () => {
    const answer = await binding(administrator, await subscribe(medplum()));
    expect([codesIn(answer), answer]).toEqual([['channel-unsupported'], expect.objectContaining({})]);
    expect(answer).toMatchObject(unsupported);
  });

  it('gives none for one that cannot be read any more', async () => {
    const stored = await toSocket('active');
    const known = await medplum().read<Subscription>(`Subscription/${stored.subscription.id}`);
    await medplum().change(known ?? stored.subscription, { channel: { type: 'message' } });
    expect(await binding(administrator, stored)).toMatchObject(unsupported);
  });

  it('gives none to others who may see it', async () => {
    const answer = await binding(await reader(), await toSocket('active'));
    expect(answer).toMatchObject({
      id: 'forbidden',
      issue: [{ diagnostics: expect.stringContaining('has another owner') }],
    });
  });
});

describe('$deliver', () => {
  const deliver = (caller: Caller, { subscription }: SubscriptionOutbox) =>
    call(caller, { operation: 'deliver', id: subscription.id });
  const waiting = { events: 2, delivered: 1, attempts: 3, status: 'on-hold' as const, until: Date.parse('2040-01-01') };

  it('starts what waits', async () => {
    const stored = await subscribe(medplum(), { outbox: waiting });
    const answer = await deliver(administrator, stored);
    expect(statesIn(answer)).toMatchObject([
      {
        subscription: addressOf(stored),
        status: 'active',
        type: 'query-status',
        'events-since-subscription-start': '2',
      },
    ]);
    expect(await outboxNow(medplum(), stored)).toMatchObject({ status: 'ready', attempts: 0, events: 2, delivered: 1 });
  });

  it('of one in error requests it again, without the reason', async () => {
    const more = { status: 'error', error: 'It answered 500.' };
    const stored = await subscribe(medplum(), { more, outbox: { status: 'failed', attempts: 9 } });
    const [state] = statesIn(await deliver(administrator, stored));
    expect([state?.status, state?.error]).toEqual(['requested', undefined]);
    const known = await medplum().read<Subscription>(`Subscription/${stored.subscription.id}`);
    expect([known?.status, known?.error, known?.reason]).toEqual(['requested', undefined, 'Test']);
    expect(await outboxNow(medplum(), stored)).toMatchObject({ status: 'ready', attempts: 0 });
  });

  it('writes nothing if nothing waits', async () => {
    const stored = await subscribe(medplum());
    expect(statesIn(await deliver(administrator, stored))).toMatchObject([{ status: 'active' }]);
  });

  it('of one that has ended is refused', async () => {
    const stored = await subscribe(medplum(), { more: { status: 'off' }, outbox: { status: 'cancelled' } });
    const answer = await deliver(administrator, stored);
    expect(codesIn(answer)).toEqual(['profile-violation']);
    expect(answer).toMatchObject({
      issue: [{ diagnostics: expect.stringContaining('has ended'), expression: ['Subscription.status'] }],
    });
  });

  it('is for staff only, also of the owner', async () => {
    const stored = await subscribe(medplum(), { outbox: waiting });
    const answer = await deliver({ ...(await reader()), id: portal }, stored);
    expect(answer).toMatchObject({
      id: 'forbidden',
      issue: [{ diagnostics: expect.stringContaining('Only staff of the clinic') }],
    });
    const staff = await seeing(portal, [{ resourceType: 'Appointment' }]);
    expect(statesIn(await deliver(staff, stored))).toHaveLength(1);
  });

  it('is tried again if the outbox is written at the same moment', async () => {
    const stored = await subscribe(medplum(), { outbox: waiting });
    let isFirst = true;
    medplum().interfere((asked) => {
      const isOvertaken = isFirst && writes(asked);
      isFirst &&= !isOvertaken;
      return isOvertaken ? conflict : undefined;
    });
    expect(statesIn(await deliver(administrator, stored))).toHaveLength(1);
    expect((await outboxNow(medplum(), stored))?.status).toBe('ready');
  });

  it('is refused if others are faster again and again', async () => {
    const stored = await subscribe(medplum(), { outbox: waiting });
    const clock = { milliseconds: 0 };
    medplum().interfere((asked) => {
      clock.milliseconds += writes(asked) ? 3_100 : 0;
      return writes(asked) ? conflict : undefined;
    });
    const answer = await ahead(clock, () => deliver(administrator, stored));
    expect(codesIn(answer)).toEqual(['version-conflict']);
    expect(answer).toMatchObject({ issue: [{ diagnostics: expect.stringContaining('kept changing') }] });
  });
});

it.each(['events', 'binding', 'deliver'])('without an id there is nothing for the operation %s', async (operation) => {
  const answer = await call(administrator, { operation });
  expect(answer.id).toBe('not-found');
});

it.each([undefined, {}, { operation: 'book' }])('there is no operation %j', async (input) => {
  const answer = await call(administrator, input);
  expect(codesIn(answer)).toEqual(['malformed-request']);
});
