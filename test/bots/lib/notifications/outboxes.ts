import type { Appointment, Bundle, Communication, Parameters, Resource, Subscription, Task } from '@medplum/fhirtypes';
import type { Answer } from '../../../../bots/lib/medplum.ts';
import { artefactUri } from '../../../../core/config/config.ts';
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
import { type Event, eventResource } from '../../../../core/notifications/events/event.ts';
import { publicSubscription } from '../../../../core/notifications/subscription/channel.ts';
import { storedParameters } from '../../../../core/notifications/subscription/subscription-parameters.ts';
import { outbox as noEvents, portal, subscription } from '../../../core/notifications/support.ts';
import { config } from '../../config.ts';
import type { BotServer } from '../../medplum.ts';

/** A stored Subscription and its outbox. */
export interface Subscribed {
  readonly id: string;
  readonly subscription: Subscription & { id: string };
  readonly task: Task & { id: string };
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

/** Stores what a row of outboxes keeps, in the row of its subscriber if there is one. */
export async function storeRow(
  server: BotServer,
  subscriber: string,
  change: (outboxes: Outboxes) => Outboxes,
): Promise<Task & { id: string }> {
  const [known] = await server.find<Task>(outboxesSearch([subscriber], config));
  const before = known ? outboxesOf(known) : { ...noOutboxes(subscriber), readable: ['Appointment'] };
  const task = outboxesTask(change(before), config, known);
  return known ? { ...(await server.change<Task>(task, {})), id: known.id ?? '' } : server.create<Task>(task);
}

/** Stores a Subscription and its outbox. */
export async function subscribe(server: BotServer, given: Given = {}): Promise<Subscribed> {
  const { owner = portal, outbox = {}, row = {}, status = 'active', changes = {} } = given;
  const profile = [artefactUri(config, 'LocalSubscriptionTermin')];
  const meta = { profile, tag: [requestorTag(owner, config)] };
  const stored = await server.create<Subscription>({ ...subscription({ status, ...changes }), meta });
  const { heartbeat, end } = storedParameters(stored, config) ?? {};
  const task = await storeRow(server, owner, (outboxes) => ({
    ...withOutbox(outboxes, stored.id, { ...noEvents, heartbeat, end, ...outbox }),
    ...row,
  }));
  return { id: stored.id, subscription: stored, task };
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

/** Changes an outbox, as others do meanwhile. */
export async function changeOutbox(
  server: BotServer,
  { id, task }: Subscribed,
  changes: Partial<Outbox>,
  row: Partial<Outboxes> = {},
): Promise<Task> {
  const { groupIdentifier } = task;
  return storeRow(server, groupIdentifier?.value ?? '', (outboxes) => {
    const outbox = outboxes.of.get(id);
    return { ...(outbox ? withOutbox(outboxes, id, { ...outbox, ...changes }) : outboxes), ...row };
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

/** Stores an appointment. */
export const addAppointment = (
  server: BotServer,
  changes: Partial<Appointment> = {},
): Promise<Appointment & { id: string; meta: { versionId: string } }> =>
  server.create<Appointment>({
    resourceType: 'Appointment',
    status: 'booked',
    start: '2031-03-10T09:00:00Z',
    end: '2031-03-10T09:20:00Z',
    participant: [{ actor: { reference: 'Patient/p1' }, status: 'accepted' }],
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

/** Medplum's answer to several searches at once: what each of them gives. */
export const searchesAnswer = (...found: readonly (readonly Resource[])[]): Answer => ({
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

/** Removes what tests have stored of some types. */
export async function removeAll(server: BotServer, ...types: readonly Resource['resourceType'][]): Promise<void> {
  for (const type of types) {
    for (const { id } of await server.find(`${type}?_count=1000&_fields=id`)) {
      await server.fhir('DELETE', `${type}/${id}`);
    }
  }
}

/** Stores a Subscription and its outbox, which listens since long ago. */
export const subscribeLongAgo = (server: BotServer, { outbox, ...given }: Given = {}): Promise<Subscribed> =>
  subscribe(server, { ...given, outbox: { since: 0, ...outbox } });
