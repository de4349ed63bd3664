import '../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Communication, Task } from '@medplum/fhirtypes';
import { removeLeftovers, removeOldEvents } from '../../../bots/notifications/remove-old-events.ts';
import { LEASE } from '../../../core/notifications/delivery/delivery-state.ts';
import { messageResource } from '../../../core/notifications/delivery/message.ts';
import { outboxesOf } from '../../../core/notifications/delivery/outbox.ts';
import type { Event } from '../../../core/notifications/events/event.ts';
import { portal } from '../../core/notifications/support.ts';
import { later } from '../clock.ts';
import { config } from '../config.ts';
import { addEvents, eventAbout, type Given, type Subscribed, subscribe } from '../lib/notifications/outboxes.ts';
import { withMedplum } from '../medplum.ts';

const medplum = withMedplum();
afterEach(() => medplum().clear(['Task', 'Subscription', 'Communication']));

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
const delivered = async (subscriber: Subscribed, ...events: readonly Event[]): Promise<string[]> =>
  (await addEvents(medplum(), subscriber, ...events)).map(({ id }) => id);

const addMessage = ({ id }: Subscribed) =>
  medplum().create<Communication>(messageResource({ resourceType: 'Bundle', type: 'history' }, id, portal, config));

const left = async (query = 'Communication') => (await medplum().find(query)).map(({ id }) => id).sort();
/** The Subscriptions that have an outbox. */
const outboxes = async () =>
  (await medplum().find<Task>('Task')).flatMap((task) => [...outboxesOf(task).of.keys()]).sort();
const ids = (...some: readonly { readonly id: string }[]) => some.map(({ id }) => id).sort();

const communication: Communication = { resourceType: 'Communication', status: 'completed' };

it('delivered events are removed a day after the time that they are kept', async () => {
  const subscriber = await add({ outbox: { events: 4, delivered: 3 } });
  const [, ...young] = await delivered(subscriber, event(1, kept + 1.1), event(2, kept + 0.9), event(3, 0));
  const [waiting] = await addEvents(medplum(), subscriber, event(4, kept + 9));
  const other = await medplum().create<Communication>({ ...communication, sent: '2020-01-01T00:00:00Z' });
  await removeOldEvents(medplum().medplum, always);
  expect(await left()).toEqual([...young, ...ids(other, waiting as Communication & { id: string })].sort());
});

describe('what a Subscription has left', () => {
  const remove = () => later(LEASE + 1_000, () => removeLeftovers(medplum().medplum, always));
  const endSubscription = ({ id }: Subscribed) => medplum().fhir('DELETE', `Subscription/${id}`);

  it('is removed with its outbox if it was deleted', async () => {
    const [one, other] = [await add(), await add()];
    await addMessage(one);
    const message = await addMessage(other);
    await endSubscription(one);
    await remove();
    expect(await left()).toEqual(ids(message));
    expect(await outboxes()).toEqual([other.id]);
  });

  it('stays as long as a delivery has the outboxes', async () => {
    const subscriber = await add({ row: { lease: { id: 'alive', until: Date.now() + LEASE } } });
    await endSubscription(subscriber);
    await later(LEASE - 5_000, () => removeLeftovers(medplum().medplum, always));
    expect(await outboxes()).toEqual([subscriber.id]);
    await later(LEASE + 5_000, () => removeLeftovers(medplum().medplum, always));
    expect(await outboxes()).toEqual([]);
  });
});
