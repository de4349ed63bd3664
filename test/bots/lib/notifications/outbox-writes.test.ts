import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Subscription } from '@medplum/fhirtypes';
import * as store from '../../../../bots/lib/notifications/outbox-store.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import { portal } from '../../../core/notifications/support.ts';
import { config } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';
import { changeOutbox, changeSubscription, type Given, type Subscribed, stateOf, subscribe } from './outboxes.ts';

const medplum = withMedplum();

const add = (given: Given = {}) => subscribe(medplum(), given);
const asked = () => medplum().asked.map(({ entries }) => entries);
const end = '2099-01-01T00:00:00.000Z';

async function read({ id }: Subscribed): Promise<store.SubscriptionOutbox> {
  const stored = await store.readOutbox(medplum().medplum, id);
  if (!stored) {
    throw new Error('There is no such outbox.');
  }
  return stored;
}

describe('an outbox is written', () => {
  it('on condition of its version, and is due when the Subscription says it from then on', async () => {
    const stored = await read(await add({ outbox: { events: 1 } }));
    const { request, resource } = store.outboxEntry(
      stored,
      { ...stored.outbox, events: 2 },
      {
        ...stored.subscription,
        end,
      },
    );
    const { task } = stored;
    expect(request).toEqual({ method: 'PUT', url: `Task/${task.id}`, ifMatch: `W/"${task.meta?.versionId}"` });
    expect(resource).toMatchObject({
      id: task.id,
      focus: task.focus,
      groupIdentifier: { value: portal },
      executionPeriod: { start: end },
    });
    expect(store.outboxEntry(stored, stored.outbox).resource).not.toHaveProperty('executionPeriod');
  });

  it('and is then as it was stored', async () => {
    const one = await add();
    const stored = await read(one);
    const written = await store.writeOutbox(medplum().medplum, stored, {
      outbox: { ...stored.outbox, events: 1 },
      entries: [
        {
          request: { method: 'POST', url: 'Communication' },
          resource: { resourceType: 'Communication', status: 'completed' },
        },
      ],
    });
    const { task, outbox } = await stateOf(medplum(), one);
    expect(outbox.events).toBe(1);
    expect(written).toMatchObject({ outbox, subscription: stored.subscription });
    expect(written).toHaveProperty('task.meta.versionId', task.meta?.versionId);
    expect(await medplum().find('Communication')).toHaveLength(1);
    expect(written).toHaveProperty('hasStoredStatus', true);
  });

  it('together with its Subscription, whose status is stored as the service does', async () => {
    const one = await add();
    await changeSubscription(medplum(), one, { status: 'active', meta: { tag: [requestorTag(portal, config)] } });
    const stored = await read(one);
    expect(stored.hasStoredStatus).toBe(false);
    const untouched = await store.writeOutbox(medplum().medplum, stored, { outbox: { ...stored.outbox, events: 1 } });
    expect(untouched).toMatchObject({ hasStoredStatus: false });
    expect(asked().at(-1)).toEqual([`PUT Task/${one.task.id}`]);
    const again = await read(one);
    const written = await store.writeOutbox(medplum().medplum, again, store.withStatusStored(again, again.outbox));
    expect(written).toMatchObject({ hasStoredStatus: true, subscription: { id: one.id, status: 'active' } });
    const now = await medplum().read<Subscription>(`Subscription/${one.id}`);
    expect(now).toMatchObject({ status: 'requested', meta: { tag: [{}, { code: 'active' }] } });
    expect(written).toHaveProperty('subscription.meta.versionId', now?.meta?.versionId);
    expect(await read(one)).toMatchObject({ hasStoredStatus: true, subscription: { status: 'active' } });
    expect(store.withStatusStored(await read(one), stored.outbox)).toEqual({ outbox: stored.outbox });
  });

  it.each<[string, (one: Subscribed) => Promise<unknown>]>([
    ['it', (one) => changeOutbox(medplum(), one, { events: 7 })],
    ['its Subscription', (one) => changeSubscription(medplum(), one, { reason: 'Other' })],
  ])('only if nobody has changed %s meanwhile', async (_, change) => {
    const one = await add();
    const stored = await read(one);
    await change(one);
    const outbox = { ...stored.outbox, delivered: 1 };
    const update = { outbox, subscription: { ...stored.subscription, status: 'off' as const } };
    expect(await store.writeOutbox(medplum().medplum, stored, update)).toBe('overtaken');
    const after = await stateOf(medplum(), one);
    expect([after.outbox.delivered, after.subscription.status]).toEqual([0, 'active']);
  });

  it('or it fails', async () => {
    const one = await add();
    const stored = await read(one);
    const entries = [{ request: { method: 'POST' as const, url: 'Communication' } }];
    const write = (more = {}) => store.writeOutbox(medplum().medplum, stored, { outbox: stored.outbox, ...more });
    const failure = (kind: string) => `The outbox of Subscription/${one.id} could not be written: ${kind}.`;
    await expect(write({ entries })).rejects.toThrow(failure('invalid'));
    medplum().interfere(() => 'no-answer');
    await expect(write()).rejects.toThrow(failure('lost'));
    medplum().interfere(() => ({ status: 200, body: { resourceType: 'Bundle', type: 'transaction-response' } }));
    await expect(write()).rejects.toThrow(failure('done'));
  });
});

describe('several outboxes are written', () => {
  const planned = async (one: Subscribed, events = 1, entries: store.OutboxUpdate['entries'] = []) => {
    const stored = await read(one);
    return { stored, update: { outbox: { ...stored.outbox, events }, entries } };
  };
  const write = (...updates: readonly store.PlannedUpdate[]) => store.writeOutboxes(medplum().medplum, updates);
  const transactions = () => medplum().asked.filter(({ entries }) => entries.some((url) => url.startsWith('PUT')));
  const eventsOf = async (...some: readonly Subscribed[]) =>
    Promise.all(some.map(async (one) => (await stateOf(medplum(), one)).outbox.events));

  it('in one transaction', async () => {
    const [one, other] = [await add(), await add()];
    expect(await write(await planned(one), await planned(other, 2))).toBe(true);
    expect(transactions().map(({ entries }) => entries.length)).toEqual([2]);
    expect(await eventsOf(one, other)).toEqual([1, 2]);
  });

  it('one by one if some had changed, which are not written', async () => {
    const [one, other, changed] = [await add(), await add(), await add()];
    const updates = [await planned(one), await planned(changed), await planned(other, 2)];
    await changeOutbox(medplum(), changed, { events: 7 });
    expect(await write(...updates)).toBe(false);
    expect(transactions()).toHaveLength(4);
    expect(await eventsOf(one, other, changed)).toEqual([1, 2, 7]);
  });

  it('one by one if one is refused', async () => {
    const [one, other] = [await add(), await add()];
    const refused = await planned(one, 1, [{ request: { method: 'POST', url: 'Communication' } }]);
    await expect(write(refused, await planned(other))).rejects.toThrow(`Subscription/${one.id} could not be written`);
    expect(await eventsOf(one, other)).toEqual([0, 1]);
  });

  it('or it fails: nobody knows whether they are', async () => {
    const updates = [await planned(await add()), await planned(await add())];
    medplum().interfere(() => 'no-answer');
    await expect(write(...updates)).rejects.toThrow('Outboxes could not be written: lost.');
    expect(transactions()).toHaveLength(1);
  });

  it('by itself if there is only one', async () => {
    const one = await add();
    expect(await write(await planned(one))).toBe(true);
    expect(transactions()).toHaveLength(1);
    const late = await planned(one, 3);
    await changeOutbox(medplum(), one, { events: 7 });
    expect(await write(late)).toBe(false);
    expect(transactions()).toHaveLength(2);
  });

  it('not at all if there are none', async () => {
    expect(await write()).toBe(true);
    expect(asked()).toEqual([]);
  });
});

it('Subscriptions are stored with the status of the service, on condition of their versions', async () => {
  const { subscription } = await read(await add());
  const url = 'urn:uuid:7a4a1f3e-0000-4000-8000-000000000000';
  const resource = expect.objectContaining({ status: 'requested' });
  expect(store.newSubscriptionEntry(url, subscription)).toEqual({
    fullUrl: url,
    request: { method: 'POST', url: 'Subscription' },
    resource,
  });
  const { id, meta } = subscription;
  expect(store.subscriptionEntry(subscription, { ...subscription, reason: 'Other' })).toEqual({
    request: { method: 'PUT', url: `Subscription/${id}`, ifMatch: `W/"${meta?.versionId}"` },
    resource: expect.objectContaining({ status: 'requested', reason: 'Other' }),
  });
});
