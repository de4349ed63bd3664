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
  searchesAnswer,
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
    const [deleted, empty, lost] = [await add(), await add(), await add()];
    await medplum().fhir('DELETE', `Subscription/${deleted.id}`);
    const { output: _, ...task } = empty.task;
    await medplum().change<Task>(task, {});
    await medplum().change<Task>(lost.task, { focus: undefined });
    expect(await store.readOutboxes(medplum().medplum, idsOf([deleted, empty]))).toEqual([]);
    expect(await store.readOpenOutboxes(medplum().medplum)).toEqual([]);
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
    const named = asked()[1]?.map((url) => url.split(',').length);
    expect(named).toEqual([100, 100, 1, 1]);
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
    medplum().interfere(() => searchesAnswer(...(pages.shift() ?? [[one.task], [one.subscription]])));
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
    medplum().interfere(() => searchesAnswer(...(pages.shift() ?? [])));
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
