import type {
  Appointment,
  Bundle,
  BundleEntry,
  Communication,
  Parameters,
  Resource,
  Subscription,
  Task,
} from '@medplum/fhirtypes';
import type { BotResponse } from '../../../../bots/lib/medplum.ts';
import { readOutbox, type SubscriptionOutbox } from '../../../../bots/lib/notifications/outbox-store.ts';
import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import { backport } from '../../../../core/fhir/backport.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import {
  noOutboxes,
  type Outbox,
  type Outboxes,
  outboxesOf,
  outboxesSearch,
  outboxesTask,
  withOutbox,
} from '../../../../core/notifications/delivery/outbox.ts';
import { type Event, eventOf, eventResource } from '../../../../core/notifications/events/event.ts';
import { asStored, publicSubscription } from '../../../../core/notifications/subscription/channel.ts';
import { storedParameters } from '../../../../core/notifications/subscription/subscription-parameters.ts';
import { outbox as noEvents, portal, subscription } from '../../../core/notifications/support.ts';
import { config } from '../../config.ts';
import type { Asked, BotServer } from '../../medplum.ts';

/** A stored Subscription and its outbox. */
export interface Subscribed extends SubscriptionOutbox {
  readonly id: string;
  readonly task: Task;
}

/** What of a Subscription and its outbox is not as usual: an active one of the portal, of which nothing waits. */
export interface Given {
  readonly owner?: string;
  readonly outbox?: Partial<Outbox>;
  readonly row?: Partial<Outboxes>;
  readonly status?: Subscription['status'];
  readonly changes?: object;
}

/** The channel of a Subscription whose notifications are posted to an endpoint. */
export const channelTo = (endpoint: string, changes: object = {}): Subscription['channel'] => ({
  ...subscription().channel,
  endpoint,
  ...changes,
});

/** A Subscription as a subscriber sends it, to an address that needs no name server. */
export const toPortal = (changes: object = {}): Subscription =>
  subscription({ channel: channelTo('https://8.8.8.8/notifications'), ...changes });

/** The extension by which a Subscription asks for certain appointments only. */
export const filteredBy = (filter: string): object => ({
  _criteria: { extension: [{ url: backport.filterCriteria, valueString: filter }] },
});

/** A Subscription as the service stores it. */
export const storedSubscription = (owner: string, sent: Subscription): Subscription =>
  asStored({
    ...sent,
    meta: { profile: [artefactUri(config, 'LocalSubscriptionTermin')], tag: [requestorTag(owner, config)] },
  });

/** Stores what a row of outboxes keeps, in the row of its subscriber if there is one. */
async function storeRow(
  server: BotServer,
  subscriber: string,
  change: (outboxes: Outboxes) => Outboxes,
): Promise<Task> {
  const [known] = await server.find<Task>(outboxesSearch([subscriber], config));
  const before = known ? outboxesOf(known) : { ...noOutboxes(subscriber), readable: ['Appointment'] };
  const task = outboxesTask(change(before), config, known);
  return known ? server.change<Task>(task, {}) : server.create<Task>(task);
}

/** Stores a Subscription and its outbox, which listens since long ago. */
export async function subscribe(server: BotServer, given: Given = {}): Promise<Subscribed> {
  const { owner = portal, outbox = {}, row = {}, status = 'active', changes = {} } = given;
  const known = await server.create(storedSubscription(owner, toPortal({ status, ...changes })));
  const { heartbeat, end } = storedParameters(known, config) ?? {};
  await storeRow(server, owner, (outboxes) => ({
    ...withOutbox(outboxes, known.id, { ...noEvents, since: 0, heartbeat, end, ...outbox }),
    ...row,
  }));
  const stored = await readOutbox(server.medplum, known);
  if (!stored) {
    throw new Error('There is no outbox.');
  }
  return { ...stored, id: known.id, task: stored.row.task };
}

/** A Subscription, as subscribers see it, and its outbox, as they are stored by now. */
export interface State {
  readonly subscription: Subscription;
  readonly task: Task;
  readonly outboxes: Outboxes;
  readonly outbox: Outbox;
}

/** Reads a Subscription and its outbox. */
export async function stateOf(server: BotServer, { id, task }: Subscribed): Promise<State> {
  const subscription = await server.read<Subscription>(`Subscription/${id}`);
  const stored = await server.read<Task>(`Task/${task.id}`);
  const outboxes = stored && outboxesOf(stored);
  const outbox = outboxes?.of.get(id);
  if (!subscription || !outboxes || !outbox) {
    throw new Error('There is no such Subscription, or no outbox.');
  }
  return { subscription: publicSubscription(subscription), task: stored, outboxes, outbox };
}

/** How many events each of some Subscriptions has. */
export const eventCounts = (server: BotServer, subscribers: readonly Subscribed[]): Promise<number[]> =>
  Promise.all(subscribers.map(async (subscriber) => (await stateOf(server, subscriber)).outbox.events));

/** Changes an outbox, as others do meanwhile. */
export async function changeOutbox(
  server: BotServer,
  { id, row: { outboxes } }: Subscribed,
  changes: Partial<Outbox>,
  row: Partial<Outboxes> = {},
): Promise<void> {
  await storeRow(server, outboxes.subscriber, (all) => {
    const outbox = all.of.get(id);
    return { ...(outbox ? withOutbox(all, id, { ...outbox, ...changes }) : all), ...row };
  });
}

/** Changes a Subscription, as others do meanwhile; its status is the one in Medplum. */
export async function changeSubscription(
  server: BotServer,
  { id }: Subscribed,
  changes: Partial<Subscription>,
): Promise<Subscription> {
  const stored = await server.read<Subscription>(`Subscription/${id}`);
  if (!stored) {
    throw new Error('There is no such Subscription.');
  }
  return server.change(stored, changes);
}

/** An appointment that the clinic has made for the portal's patient. */
export const anAppointment = (server: BotServer, changes: Partial<Appointment> = {}) =>
  server.create<Appointment>({
    resourceType: 'Appointment',
    status: 'booked',
    start: '2031-01-06T08:00:00Z',
    end: '2031-01-06T08:30:00Z',
    participant: [{ actor: { reference: 'Patient/p1' }, status: 'accepted' }],
    meta: { tag: [requestorTag(portal, config)] },
    ...changes,
  });

/** An event about the present version of an appointment. */
export const eventAbout = ({ id = '', meta }: Appointment, number: number, kind: Event['kind'] = 'update'): Event => ({
  number,
  timestamp: '2027-01-01T00:00:00.000Z',
  appointment: id,
  version: meta?.versionId ?? '',
  kind,
});

/** Stores events of a Subscription. */
export async function addEvents(
  server: BotServer,
  { id }: Pick<Subscribed, 'id'>,
  ...events: readonly Event[]
): Promise<(Communication & { id: string })[]> {
  const stored: (Communication & { id: string })[] = [];
  for (const event of events) {
    stored.push(await server.create<Communication>(eventResource(event, new Map([[id, event.number]]), config)));
  }
  return stored;
}

/** The events of a Subscription, in the order of their numbers. */
export async function eventsOf(server: BotServer, { id }: Subscribed): Promise<Event[]> {
  const found = await server.find<Communication>('Communication?_count=1000');
  return found.flatMap((communication) => eventOf(communication, id, config) ?? []).sort((a, b) => a.number - b.number);
}

/** Sends many entries at once, each for itself. */
export async function batch(server: BotServer, entry: readonly BundleEntry[]): Promise<void> {
  const sent = { resourceType: 'Bundle', type: 'batch', entry };
  const { body } = await server.fhir<Bundle>('POST', '', sent);
  const failed = body.entry?.find(({ response }) => !response?.status.startsWith('2'));
  if (failed || body.entry?.length !== entry.length) {
    throw new Error(`Not all was written: ${JSON.stringify(failed ?? body)}`);
  }
}

/** Stores as many Subscriptions of a subscriber as it may have. */
export const subscribeToTheLimit = (server: BotServer, owner: string): Promise<void> =>
  batch(
    server,
    Array.from({ length: config.notifications.maxSubscriptions }, () => ({
      request: { method: 'POST', url: 'Subscription' },
      resource: storedSubscription(owner, toPortal()),
    })),
  );

/** Whether a Bot asks for something to be written. */
export const writes = ({ type, entries }: Asked): boolean =>
  type !== 'read' && entries.some((one) => !one.startsWith('GET '));

/** Medplum refuses a transaction: somebody else has changed what it relies on. */
export const conflict: BotResponse = { status: 412, body: { resourceType: 'OperationOutcome', issue: [] } };

/** Medplum's answer to several searches at once: what each of them gives. */
export const searchesAnswer = (...found: readonly (readonly Resource[])[]): BotResponse => ({
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

/** What a notification says of its Subscription: the values of its parameters, by their names. */
export function statusIn(bundle: Bundle | undefined): Record<string, unknown> {
  const parameters = (bundle?.entry?.[0]?.resource as Parameters | undefined)?.parameter ?? [];
  return Object.fromEntries(
    parameters.map(({ name, part, ...value }) => [name, part ? statusOfParts(part) : Object.values(value)[0]]),
  );
}

const statusOfParts = (parts: readonly { name: string }[]): Record<string, unknown> =>
  Object.fromEntries(parts.map(({ name, ...value }) => [name, Object.values(value)[0]]));
