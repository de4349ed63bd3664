import type { Appointment, BundleEntry, Communication, Resource, Subscription, Task } from '@medplum/fhirtypes';
import type { Answer } from '../../../../../bots/lib/medplum.ts';
import { type EventState, readEventState } from '../../../../../bots/lib/notifications/events/event-state.ts';
import { readOutbox, type SubscriptionOutbox } from '../../../../../bots/lib/notifications/outbox-store.ts';
import { artefactUri } from '../../../../../core/config/config.ts';
import { requestorTag } from '../../../../../core/fhir/tags.ts';
import { type Outbox, type Outboxes, withOutbox } from '../../../../../core/notifications/delivery/outbox.ts';
import { type Event, eventOf, eventResource } from '../../../../../core/notifications/events/event.ts';
import { asStored } from '../../../../../core/notifications/subscription/channel.ts';
import { backport } from '../../../../../core/notifications/subscription/extensions.ts';
import { topicUrl } from '../../../../../core/notifications/subscription/topics.ts';
import { portal, subscription as submitted } from '../../../../core/notifications/support.ts';
import { config } from '../../../config.ts';
import type { Asked, BotServer } from '../../../medplum.ts';
import { storeRow } from '../outboxes.ts';

/** What a Subscription of the tests is like; by default an active one of the portal, of which everything is delivered. */
export interface Subscribed {
  readonly owner?: string;
  readonly more?: object;
  readonly outbox?: Partial<Outbox>;
  readonly row?: Partial<Outboxes>;
}

/** A Subscription as a subscriber sends it, to an address that needs no name server. */
export const toPortal = (more: object = {}): Subscription => {
  const sent = submitted({ criteria: topicUrl('appointment-update', config), ...more });
  return { ...sent, channel: { ...sent.channel, endpoint: 'https://8.8.8.8/notifications' } };
};

/** A Subscription to websockets, as a subscriber sends it. */
export function toWebsockets(more: object = {}): Subscription {
  const sent = toPortal(more);
  const { endpoint: _, ...channel } = sent.channel;
  return { ...sent, channel: { ...channel, type: 'websocket' } };
}

/** The extension by which a Subscription asks for certain appointments only. */
export const filteredBy = (filter: string): object => ({
  _criteria: { extension: [{ url: backport.filterCriteria, valueString: filter }] },
});

/** A Subscription as the service stores it. */
export const storedSubscription = (owner: string, sent: Subscription): Subscription => ({
  ...asStored({
    ...sent,
    meta: {
      profile: [artefactUri(config, 'LocalSubscriptionTermin')],
      tag: [requestorTag(owner, config)],
    },
  }),
});

/** Stores a Subscription with its outbox, which listens since long ago. */
export async function subscribe(server: BotServer, given: Subscribed = {}): Promise<SubscriptionOutbox> {
  const { owner = portal, more = {}, outbox = {}, row = {} } = given;
  const sent: Subscription = { ...toPortal(), status: 'active', ...more };
  const known = await server.create<Subscription>(storedSubscription(owner, sent));
  await storeRow(server, owner, (outboxes) => ({
    ...withOutbox(outboxes, known.id, {
      status: 'accepted',
      events: 0,
      delivered: 0,
      attempts: 0,
      since: 0,
      ...outbox,
    }),
    ...row,
  }));
  const stored = await readOutbox(server.medplum, known);
  if (!stored) {
    throw new Error('There is no outbox.');
  }
  return stored;
}

/** What is in an outbox by now. */
export async function outboxNow(server: BotServer, { subscription }: SubscriptionOutbox): Promise<Outbox | undefined> {
  return (await readOutbox(server.medplum, subscription))?.outbox;
}

/** Deletes all outboxes: nobody listens any more. */
export async function forgetOutboxes(server: BotServer): Promise<void> {
  const tasks = await server.find<Task>('Task?_count=1000&_fields=id');
  await batch(
    server,
    tasks.map(({ id }) => ({ request: { method: 'DELETE', url: `Task/${id}` } })),
  );
}

/** Sends many entries at once, each for itself. */
export async function batch(server: BotServer, entry: readonly BundleEntry[]): Promise<void> {
  if (entry.length === 0) {
    return;
  }
  const { body } = await server.fhir<{ entry?: BundleEntry[] }>('POST', '', {
    resourceType: 'Bundle',
    type: 'batch',
    entry,
  });
  const failed = (body.entry ?? []).find(({ response }) => !response?.status.startsWith('2'));
  if (failed || body.entry?.length !== entry.length) {
    throw new Error(`Not all was written: ${JSON.stringify(failed ?? body)}`);
  }
}

/** An appointment that the clinic has made for the portal's patient. */
export const anAppointment = (server: BotServer, more: Partial<Appointment> = {}) =>
  server.create<Appointment>({
    resourceType: 'Appointment',
    status: 'booked',
    start: '2031-01-06T08:00:00Z',
    end: '2031-01-06T08:30:00Z',
    participant: [{ actor: { reference: 'Patient/p1' }, status: 'accepted' }],
    meta: { tag: [requestorTag(portal, config)] },
    ...more,
  });

/** Writes so many further versions of an appointment. */
export async function rewrite(server: BotServer, appointment: Appointment, count: number): Promise<void> {
  const resources = Array.from({ length: count }, (_, index) => ({ ...appointment, comment: `Change ${index}` }));
  const url = `Appointment/${appointment.id}`;
  await batch(
    server,
    resources.map((resource) => ({ request: { method: 'PUT', url }, resource })),
  );
}

/** Deletes a resource. */
export async function remove(server: BotServer, { resourceType, id }: Resource): Promise<void> {
  await server.fhir('DELETE', `${resourceType}/${id}`);
}

/** The events of a Subscription, in the order of their numbers. */
export async function eventsOf(server: BotServer, { subscription }: SubscriptionOutbox): Promise<Event[]> {
  const found = await server.find<Communication>('Communication?_count=1000');
  return found.flatMap((one) => eventOf(one, subscription.id, config) ?? []).sort((a, b) => a.number - b.number);
}

/** Whether a Bot asks for something to be written. */
export const writes = ({ type, entries }: Asked): boolean =>
  type !== 'read' && entries.some((one) => !one.startsWith('GET '));

/** An answer of Medplum to a batch or a transaction: what it has found for each entry. */
export const foundFor = (...resources: readonly (readonly Resource[])[]): Answer => ({
  status: 200,
  body: {
    resourceType: 'Bundle',
    type: 'batch-response',
    entry: resources.map((all) => ({
      response: { status: '200' },
      resource: { resourceType: 'Bundle', type: 'searchset', entry: all.map((resource) => ({ resource })) },
    })),
  },
});

/** Medplum refuses a transaction: somebody else has changed what it relies on. */
export const conflict: Answer = { status: 412, body: { resourceType: 'OperationOutcome', issue: [] } };

/** What decides about the events of appointments, for whomever. */
export const stateFor = (server: BotServer, ...appointments: readonly Appointment[]): Promise<EventState> =>
  readEventState(
    server.medplum,
    appointments.flatMap(({ id }) => id ?? []),
    'any',
  );

/** The event of a version, as it is stored. */
export const eventFor = (
  { id = '', meta }: Appointment,
  { subscription }: SubscriptionOutbox,
  number = 1,
): Communication =>
  eventResource(
    { timestamp: meta?.lastUpdated ?? '', appointment: id, version: meta?.versionId ?? '', kind: 'create' },
    new Map([[subscription.id, number]]),
    config,
  );

/** How many events each of some Subscriptions has. */
export const eventCounts = (server: BotServer, all: readonly SubscriptionOutbox[]): Promise<(number | undefined)[]> =>
  Promise.all(all.map(async (one) => (await outboxNow(server, one))?.events));
