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
  });

  it.each<[string, Task['focus']]>([
    ['nothing', undefined],
    ['something without a reference', { display: 'A Subscription' }],
  ])('is not looked for where a Task is about %s', async (_, focus) => {
    const { task } = await add();
    await medplum().change<Task>(task, { focus });
    await remove();
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
    expect(await left('Task')).toEqual([one.task.id]);
  });

  it('has its outbox as long as something cannot be removed', async () => {
    const one = await add();
    await endSubscription(one);
    await addEvents(medplum(), one, event(1, 0));
    medplum().interfere(({ entries }) => (entries[0]?.startsWith('DELETE') ? 'no-answer' : undefined));
    await remove();
    expect(await left('Task')).toEqual([one.task.id]);
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
