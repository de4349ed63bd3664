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
