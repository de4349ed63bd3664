import '../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Communication, Resource, Task } from '@medplum/fhirtypes';
import { removeLeftovers, removeOldEvents } from '../../../bots/lib/notifications/events/retention.ts';
import { handler } from '../../../bots/notifications/remove-old-events.ts';
import { LEASE } from '../../../core/notifications/delivery/delivery-state.ts';
import { messageResource } from '../../../core/notifications/delivery/message.ts';
import { deliveredEvent, type Event } from '../../../core/notifications/events/event.ts';
import { portal } from '../../core/notifications/support.ts';
import { later, withClock } from '../clock.ts';
import { config } from '../config.ts';
import {
  addEvents,
  eventAbout,
  type Given,
  removeAll,
  type Subscribed,
  searchesAnswer,
  subscribe,
} from '../lib/notifications/outboxes.ts';
import { withMedplum } from '../medplum.ts';

const medplum = withMedplum();
afterEach(() => removeAll(medplum(), 'Task', 'Subscription', 'Communication'));

const add = (given: Given = {}) => subscribe(medplum(), given);
const always = () => true;
const day = 24 * 60 * 60_000;
const asked = () => medplum().asked.map(({ entries }) => entries);
const deletions = () => asked().filter(([first]) => first?.startsWith('DELETE'));

/** An event that happened so many days ago. */
const event = (number: number, days: number): Event => ({
  ...eventAbout({ resourceType: 'Appointment', status: 'booked', participant: [], id: 'a1' }, number),
  version: 'v1',
  timestamp: new Date(Date.now() - days * day).toISOString(),
});

const { keepEventsDays: kept } = config.notifications;

/** Stores events of a Subscription that were delivered. */
async function delivered(one: Subscribed, ...events: readonly Event[]): Promise<string[]> {
  const stored = await addEvents(medplum(), one, ...events);
  for (const resource of stored) {
    await medplum().change<Communication>(resource, deliveredEvent(resource, Date.now()));
  }
  return stored.map(({ id }) => id);
}

const addMessage = ({ id }: Subscribed) =>
  medplum().create<Communication>(messageResource({ resourceType: 'Bundle', type: 'history' }, id, portal, config));

const left = async (query = 'Communication') => (await medplum().find(query)).map(({ id }) => id).sort();
const ids = (...some: readonly { readonly id: string }[]) => some.map(({ id }) => id).sort();

/** So many resources that are not there any more. */
const gone = <T extends Resource>(resource: T, count: number): T[] =>
  Array.from({ length: count }, (_, index) => ({
    ...resource,
    id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  }));

const communication: Communication = { resourceType: 'Communication', status: 'completed' };

describe('delivered events', () => {
  it('are removed a day after the time that they are kept', async () => {
    const one = await add();
    const [, ...young] = await delivered(one, event(1, kept + 1.1), event(2, kept + 0.9), event(3, 0));
    const [waiting] = await addEvents(medplum(), one, event(4, kept + 9));
    const other = await medplum().create<Communication>({ ...communication, sent: '2020-01-01T00:00:00Z' });
    await removeOldEvents(medplum().medplum, always);
    expect(await left()).toEqual([...young, ...ids(other, waiting as Communication & { id: string })].sort());
    expect(deletions()).toHaveLength(1);
  });

  it('are not removed without need', async () => {
    await removeOldEvents(medplum().medplum, always);
    expect(asked()).toHaveLength(1);
  });

  it('are removed a hundred at a time', async () => {
    const pages = [gone(communication, 100), gone(communication, 99)];
    medplum().interfere(({ type }) => (type === 'transaction' ? searchesAnswer(pages.shift() ?? []) : undefined));
    await removeOldEvents(medplum().medplum, always);
    expect(deletions().map(({ length }) => length)).toEqual([100, 99]);
    expect(asked()).toHaveLength(4);
    expect(asked()[0]?.[0]).toMatch(/_count=100/);
  });

  it('are left to the next run when the time is over', async () => {
    await delivered(await add(), event(1, kept + 2));
    await removeOldEvents(medplum().medplum, () => false);
    expect(asked()).toEqual([]);
  });

  const responses = (count: number, status?: string) => ({
    status: 200,
    body: {
      resourceType: 'Bundle',
      type: 'batch-response',
      entry: Array(count).fill(status === undefined ? {} : { response: { status } }),
    },
  });

  const mixed = responses(100, '204');
  mixed.body.entry[7] = { response: { status: '403' } };

  it.each<[string, ReturnType<typeof responses> | 'no-answer']>([
    ['refuses to remove them', responses(100, '403')],
    ['fails to remove them', responses(100, '502')],
    ['refuses to remove one of them', mixed],
    ['says nothing about them', responses(100)],
    ['answers for some of them', responses(99, '204')],
    ['does not answer', 'no-answer'],
  ])('are left to the next run if Medplum %s', async (_, refusal) => {
    medplum().interfere(({ type }) => (type === 'transaction' ? searchesAnswer(gone(communication, 100)) : refusal));
    await removeOldEvents(medplum().medplum, always);
    expect(asked()).toHaveLength(2);
  });

  it.each(['200', '204', '404', '410'])('may be removed already: status %s', async (status) => {
    const pages = [gone(communication, 100)];
    medplum().interfere(({ type }) =>
      type === 'transaction' ? searchesAnswer(pages.shift() ?? []) : responses(100, status),
    );
    await removeOldEvents(medplum().medplum, always);
    expect(asked()).toHaveLength(3);
  });
});

describe('what a Subscription has left', () => {
  const remove = () => later(LEASE + 1_000, () => removeLeftovers(medplum().medplum, always));
  const endSubscription = ({ id }: Subscribed) => medplum().fhir('DELETE', `Subscription/${id}`);

  it('is removed with its outbox, which goes last, if it was deleted', async () => {
    const [one, other] = [await add(), await add()];
    await addEvents(medplum(), one, event(1, 0));
    await addMessage(one);
    const [undelivered] = await addEvents(medplum(), other, event(1, kept + 2));
    const message = await addMessage(other);
    await endSubscription(one);
    await remove();
    expect(await left()).toEqual(ids(undelivered as Communication & { id: string }, message));
    expect(await left('Task')).toEqual([other.task.id]);
    expect(deletions().map(({ length }) => length)).toEqual([2, 1]);
    expect(deletions()[1]).toEqual([`DELETE Task/${one.task.id}`]);
  });

  it('is removed but for its outbox and what is kept, if it is over', async () => {
    const one = await add({ status: 'off', outbox: { status: 'cancelled' } });
    await addMessage(one);
    const [, young] = await addEvents(medplum(), one, event(1, kept + 2), event(2, kept));
    await remove();
    expect(await left()).toEqual([young?.id]);
    expect(await left('Task')).toEqual([one.task.id]);
  });

  it('stays as long as its delivery may be under way', async () => {
    const one = await add();
    await endSubscription(one);
    const end = Date.parse(one.task.meta?.lastUpdated ?? '') + LEASE;
    await later(end - Date.now() - 5_000, () => removeLeftovers(medplum().medplum, always));
    await withClock(async (skip) => {
      skip(end - Date.now());
      await removeLeftovers(medplum().medplum, always);
    });
    expect(await left('Task')).toEqual([one.task.id]);
    expect(asked()).toHaveLength(2);
  });

  it.each<[string, Task['focus']]>([
    ['nothing', undefined],
    ['something without a reference', { display: 'A Subscription' }],
  ])('is not looked for where a Task is about %s', async (_, focus) => {
    const { task } = await add();
    await medplum().change<Task>(task, { focus });
    await remove();
    expect(asked()).toHaveLength(1);
    expect(await left('Task')).toEqual([task.id]);
  });

  it('is removed a hundred at a time, and the outbox after all of it', async () => {
    const one = await add();
    await endSubscription(one);
    const pages = [gone(communication, 100), gone(communication, 1)];
    medplum().interfere(({ entries }) =>
      entries[0]?.includes('part-of') ? searchesAnswer(pages.shift() ?? []) : undefined,
    );
    await remove();
    expect(deletions().map(({ length }) => length)).toEqual([100, 1, 1]);
    expect(await left('Task')).toEqual([]);
  });

  it('is removed at any number, of whatever kind', async () => {
    const one = await add({ status: 'off', outbox: { status: 'cancelled' } });
    const pages = [
      [[], gone(communication, 100)],
      [gone(communication, 1), []],
    ];
    medplum().interfere(({ entries }) =>
      entries[0]?.includes('part-of') ? searchesAnswer(...(pages.shift() ?? [[], []])) : undefined,
    );
    await remove();
    expect(deletions().map(({ length }) => length)).toEqual([100, 1]);
    expect(await left('Task')).toEqual([one.task.id]);
  });

  it('has its outbox as long as something cannot be removed', async () => {
    const one = await add();
    await endSubscription(one);
    await addEvents(medplum(), one, event(1, 0));
    medplum().interfere(({ entries }) => (entries[0]?.startsWith('DELETE') ? 'no-answer' : undefined));
    await remove();
    expect(deletions()).toHaveLength(1);
    expect(await left('Task')).toEqual([one.task.id]);
  });

  it('is looked for by pages of a thousand outboxes, and of a hundred Subscriptions', async () => {
    const one = await add();
    const old = { ...one.task, meta: { ...one.task.meta, lastUpdated: '2020-01-01T00:00:00Z' } };
    const pages = [Array<Task>(1000).fill(old), Array<Task>(1).fill(old)];
    medplum().interfere(({ entries }) =>
      entries[0]?.startsWith('GET Task') ? searchesAnswer(pages.shift() ?? []) : undefined,
    );
    await removeLeftovers(medplum().medplum, always);
    const searches = asked().map(([first = '']) => first);
    expect(searches.slice(0, 2).map((url) => /_count=1000&_offset=(\d+)/.exec(url)?.[1])).toEqual(['0', '1000']);
    const subscriptions = searches.slice(2).map((url) => /_id=([^&]+)&_count=1000/.exec(url)?.[1]?.split(',').length);
    expect(subscriptions).toEqual([...Array(10).fill(100), 1]);
  });

  it('is left to the next run when the time is over', async () => {
    const [one, other] = [await add(), await add()];
    await endSubscription(one);
    await endSubscription(other);
    const times = [true, true, false];
    await later(LEASE + 1_000, () => removeLeftovers(medplum().medplum, () => times.shift() ?? false));
    expect(await left('Task')).toHaveLength(1);
    await later(LEASE + 1_000, () => removeLeftovers(medplum().medplum, () => false));
    expect(await left('Task')).toHaveLength(1);
  });
});

describe('the Bot', () => {
  it('removes old events and what Subscriptions have left', async () => {
    const [one, other] = [await add(), await add()];
    await delivered(other, event(1, kept + 2));
    await addEvents(medplum(), one, event(1, 0));
    await medplum().fhir('DELETE', `Subscription/${one.id}`);
    await later(LEASE + 1_000, () => handler(medplum().medplum));
    expect(await left()).toEqual([]);
    expect(await left('Task')).toEqual([other.task.id]);
  });

  it('ends after six seconds', async () => {
    const one = await add();
    await delivered(one, event(1, kept + 2));
    await medplum().fhir('DELETE', `Subscription/${one.id}`);
    await withClock(async (skip) => {
      skip(LEASE + 1_000);
      medplum().interfere(({ entries }) => {
        skip(entries[0]?.startsWith('DELETE') ? 6_000 : 0);
        return undefined;
      });
      await handler(medplum().medplum);
    });
    expect(await left()).toEqual([]);
    expect(await left('Task')).toEqual([one.task.id]);
  });

  it('fails if Medplum does not answer', async () => {
    medplum().interfere(() => 'not-connected');
    await expect(handler(medplum().medplum)).rejects.toThrow('The FHIR server could not be read.');
  });
});
