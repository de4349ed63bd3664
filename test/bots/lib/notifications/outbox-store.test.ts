import '../../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Resource, Subscription, Task } from '@medplum/fhirtypes';
import * as store from '../../../../bots/lib/notifications/outbox-store.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import type { Outbox } from '../../../../core/notifications/delivery/outbox.ts';
import { portal, staff } from '../../../core/notifications/support.ts';
import { config } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';
import {
  changeOutbox,
  changeSubscription,
  type Given,
  removeAll,
  type Subscribed,
  stateOf,
  subscribe,
} from './outboxes.ts';

const medplum = withMedplum();
afterEach(() => removeAll(medplum(), 'Task', 'Subscription', 'Communication'));

const add = (given: Given = {}) => subscribe(medplum(), given);
const ids = (found: readonly store.SubscriptionOutbox[]) => found.map(({ subscription }) => subscription.id).sort();
const idsOf = (some: readonly Subscribed[]) => some.map(({ id }) => id).sort();
const asked = () => medplum().asked.map(({ entries }) => entries);

async function read({ id }: Subscribed): Promise<store.SubscriptionOutbox> {
  const stored = await store.readOutbox(medplum().medplum, id);
  if (!stored) {
    throw new Error('There is no such outbox.');
  }
  return stored;
}

/** An answer to searches: what each of them gives. */
const answer = (...found: readonly (readonly Resource[])[]) => ({
  status: 200,
  body: {
    resourceType: 'Bundle',
    type: 'transaction-response',
    entry: found.map((resources) => ({
      response: { status: '200' },
      resource: { resourceType: 'Bundle', type: 'searchset', entry: resources.map((resource) => ({ resource })) },
    })),
  },
});

/** So many outboxes of Subscriptions that are not there. */
const orphans = ({ task }: Subscribed, count: number): Task[] =>
  Array.from({ length: count }, (_, index) => ({ ...task, focus: { reference: `Subscription/none-${index}` } }));

describe('the outbox of a Subscription', () => {
  it('is read with what it asks for', async () => {
    const end = Date.parse('2099-01-01T00:00:00Z');
    const one = await add({ outbox: { events: 3 }, changes: { end: new Date(end).toISOString() } });
    const stored = await read(one);
    expect(stored).toMatchObject({
      subscription: { id: one.id, status: 'active' },
      hasStoredStatus: true,
      settings: { topic: 'appointment-update', end },
      owner: portal,
      task: { id: one.task.id },
      outbox: { events: 3, status: 'accepted' },
    });
    expect(asked()).toHaveLength(1);
  });

  it('is none if the Subscription is not there, or its Task says nothing', async () => {
    const [deleted, empty] = [await add(), await add()];
    await medplum().fhir('DELETE', `Subscription/${deleted.id}`);
    const { output: _, ...task } = empty.task;
    await medplum().change<Task>(task, {});
    expect(await store.readOutboxes(medplum().medplum, idsOf([deleted, empty]))).toEqual([]);
  });

  it('may belong to nobody, or to a Subscription that cannot be read any more', async () => {
    const one = await add();
    await changeSubscription(medplum(), one, { meta: {}, criteria: 'Observation' });
    expect(await read(one)).toMatchObject({ owner: '', settings: undefined });
  });

  it.each<[Outbox['status'], Subscription['status'], string, boolean]>([
    ['failed', 'active', 'requested', false],
    ['cancelled', 'active', 'requested', false],
    ['accepted', 'active', 'active', false],
    ['failed', 'error', 'error', true],
    ['cancelled', 'off', 'off', true],
    ['accepted', 'requested', 'requested', true],
  ])('that is %s: a Subscription that is %s in Medplum is %s', async (status, set, seen, hasStoredStatus) => {
    const one = await add({ outbox: { status } });
    await changeSubscription(medplum(), one, { status: set, meta: { tag: [requestorTag(portal, config)] } });
    expect(await read(one)).toMatchObject({ subscription: { status: seen }, hasStoredStatus });
  });

  it('is read with many others at once, a hundred Subscriptions by one search', async () => {
    const one = await add();
    const known = (count: number) => [...Array.from({ length: count - 1 }, (_, index) => `none-${index}`), one.id];
    expect(ids(await store.readOutboxes(medplum().medplum, known(100)))).toEqual([one.id]);
    expect(ids(await store.readOutboxes(medplum().medplum, known(101)))).toEqual([one.id]);
    expect(asked().map(({ length }) => length)).toEqual([2, 4]);
    expect(await store.readOutboxes(medplum().medplum, [])).toEqual([]);
    expect(asked()).toHaveLength(2);
  });
});

describe('open outboxes', () => {
  it('are all but those that are over', async () => {
    const statuses = ['ready', 'received', 'in-progress', 'on-hold', 'accepted', 'failed'] as const;
    const open: Subscribed[] = [];
    for (const status of statuses) {
      open.push(await add({ outbox: { status } }));
    }
    await add({ outbox: { status: 'cancelled' } });
    expect(ids(await store.readOpenOutboxes(medplum().medplum))).toEqual(idsOf(open));
    const [, subscriptions = ''] = asked()[0] ?? [];
    const found = await medplum().find(subscriptions.replace('GET ', ''));
    expect(found.map(({ id }) => id).sort()).toEqual(idsOf(open));
  });

  it('are only those that some appointments concern', async () => {
    const token = (name: string) => `${requestorTag(name, config).system}|${name}`;
    const readable = (name: string) => [`Appointment?_tag=${token(name)}`];
    const own = await add({ outbox: { readable: readable(portal) } });
    await add({ outbox: { readable: readable(staff) } });
    expect(ids(await store.readOpenOutboxes(medplum().medplum, token(portal).toLowerCase()))).toEqual([own.id]);
    const found = await Promise.all((asked()[0] ?? []).map((one) => medplum().find(one.replace('GET ', ''))));
    expect(found.map((some) => some.map(({ id }) => id))).toEqual([[own.task.id], [own.id]]);
  });

  it.each<[string, (one: Subscribed) => Resource[][]]>([
    ['outboxes', (one) => [orphans(one, 1000), []]],
    ['Subscriptions', ({ subscription }) => [[], Array.from({ length: 1000 }, () => subscription)]],
  ])('are read page by page while there are a thousand %s', async (_, page) => {
    const one = await add();
    const pages = [page(one), [[], []]];
    medplum().interfere(() => answer(...(pages.shift() ?? [[one.task], [one.subscription]])));
    await store.readOpenOutboxes(medplum().medplum);
    expect(asked()).toHaveLength(2);
    const pageOf = (url: string) => /&_sort=_id&_count=1000&_offset=(\d+)$/.exec(url)?.[1];
    expect(asked().map((entries) => entries.map(pageOf))).toEqual([
      ['0', '0'],
      ['1000', '1000'],
    ]);
  });

  it('may be on another page than their Subscriptions', async () => {
    const one = await add();
    const pages = [
      [[...orphans(one, 999), one.task], []],
      [[], [one.subscription]],
    ];
    medplum().interfere(() => answer(...(pages.shift() ?? [])));
    expect(ids(await store.readOpenOutboxes(medplum().medplum))).toEqual([one.id]);
  });

  it('are unknown if Medplum does not answer', async () => {
    medplum().interfere(() => 'too-late');
    await expect(store.readOpenOutboxes(medplum().medplum)).rejects.toThrow('The FHIR server could not be read.');
  });
});

const end = '2099-01-01T00:00:00.000Z';

it('an outbox says when it is due, by what its Subscription asks for', async () => {
  const one = await add({ changes: { end } });
  const stored = await read(one);
  expect(store.isTimed(stored)).toBe(true);
  expect(stored.task.executionPeriod).toEqual({ start: end });
  await changeSubscription(medplum(), one, { end: '2098-01-01T00:00:00Z' });
  expect(store.isTimed(await read(one))).toBe(false);
  await changeSubscription(medplum(), one, { criteria: 'Observation' });
  expect(store.isTimed(await read(one))).toBe(false);
  await changeOutbox(medplum(), one, {});
  expect(store.isTimed(await read(one))).toBe(true);
});

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
