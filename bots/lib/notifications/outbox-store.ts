import type { MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, Resource, Subscription, Task } from '@medplum/fhirtypes';
import { isResource, updateEntry } from '../../../core/fhir/resource.ts';
import { ownerOf, requestorQuery } from '../../../core/fhir/tags.ts';
import {
  noOutboxes,
  type Outbox,
  type Outboxes,
  outboxesOf,
  outboxesSearch,
  outboxesTask,
  withOutbox,
} from '../../../core/notifications/delivery/outbox.ts';
import { concernQuery, tagTokens } from '../../../core/notifications/events/concern.ts';
import {
  type SubscriptionParameters,
  storedParameters,
} from '../../../core/notifications/subscription/subscription-parameters.ts';
import { creation, rowSearch } from '../../../core/rows/row.ts';
import { chunks } from '../../../core/rows/search.ts';
import { config } from '../config.ts';
import { sendTransaction } from '../medplum.ts';
import { ofType, pageUrl, readAll, readInTransaction } from '../read.ts';

/** The outboxes of a subscriber as they were read, and the Task in which they are kept. */
export interface OutboxRow {
  readonly task: Task;
  readonly outboxes: Outboxes;
}

export interface SubscriptionOutbox {
  readonly subscription: Subscription & { readonly id: string };
  /**
   * The parameters of the Subscription; absent if they are no longer valid, for example after the configuration has
   * changed.
   */
  readonly settings: SubscriptionParameters | undefined;
  readonly row: OutboxRow;
  readonly outbox: Outbox;
}

/** The statuses of rows to which events are still written. */
export const OPEN = 'ready,in-progress,on-hold,accepted,failed';

export const rowsIn = (resources: readonly Resource[]): OutboxRow[] =>
  ofType('Task', resources).map((task) => ({ task, outboxes: outboxesOf(task) }));

function openRows(concerned: string | undefined): string {
  const narrowed = { status: OPEN, ...(concerned !== undefined && { identifier: concerned }) };
  return rowSearch(['outboxes'], narrowed, config);
}

/** The search with which `readOpenRows` begins for an appointment, to be read ahead. */
export const openRowsFor = ({ meta }: Appointment): string =>
  pageUrl(openRows(concernQuery(tagTokens([meta]), config)), {});

/**
 * Reads all rows to which events are still written.
 * @param concerned - the value of `concernQuery`, if only those that some appointments concern are wanted
 */
export const readOpenRows = async (medplum: MedplumClient, concerned?: string): Promise<OutboxRow[]> =>
  rowsIn(await readAll(medplum, [openRows(concerned)]));

function subscriptionQueries(subscribers: readonly string[]): string[] {
  return chunks(subscribers).map((some) => {
    const tags = some.map((one) => requestorQuery(one, config)).join(',');
    return `Subscription?_tag=${encodeURIComponent(tags)}`;
  });
}

/** A Subscription with its outbox; `undefined` if it has none. */
function joined(row: OutboxRow, stored: Subscription): SubscriptionOutbox | undefined {
  const { id = '' } = stored;
  const outbox = row.outboxes.of.get(id);
  if (!outbox) {
    return undefined;
  }
  return { subscription: { ...stored, id }, settings: storedParameters(stored, config), row, outbox };
}

export async function readSubscriptionsOf(
  medplum: MedplumClient,
  rows: readonly OutboxRow[],
): Promise<SubscriptionOutbox[]> {
  const byOwner = new Map(rows.map((row) => [row.outboxes.subscriber, row]));
  const found = await readAll(medplum, subscriptionQueries([...byOwner.keys()]));
  return ofType('Subscription', found).flatMap((stored) => {
    const row = byOwner.get(ownerOf(stored, config) ?? '');
    return (row && joined(row, stored)) ?? [];
  });
}

export interface SubscriberState {
  readonly row: OutboxRow;
  readonly subscriptions: readonly SubscriptionOutbox[];
}

/** Reads the outboxes of some subscribers, with their Subscriptions. */
export async function readSubscribers(
  medplum: MedplumClient,
  subscribers: readonly string[],
): Promise<SubscriberState[]> {
  const rows = subscribers.length > 0 ? rowsIn(await readAll(medplum, [outboxesSearch(subscribers, config)])) : [];
  const subscriptions = await readSubscriptionsOf(medplum, rows);
  return rows.map((row) => ({ row, subscriptions: subscriptions.filter((outbox) => outbox.row === row) }));
}

/**
 * Reads one Subscription and its outbox.
 * @param known - with its id and its tags, however old
 */
export async function readOutbox(
  medplum: MedplumClient,
  known: Pick<Subscription, 'id' | 'meta'>,
): Promise<SubscriptionOutbox | undefined> {
  const owner = ownerOf(known, config);
  if (owner === undefined) {
    return undefined;
  }
  const [tasks = [], found] = await readInTransaction(medplum, [
    outboxesSearch([owner], config),
    `Subscription?_id=${known.id}`,
  ]);
  const [row] = rowsIn(tasks);
  const [stored] = ofType('Subscription', found);
  return row && stored && joined(row, stored);
}

export const newRowEntry = (subscriber: string): BundleEntry =>
  creation(outboxesTask(noOutboxes(subscriber), config), outboxesSearch([subscriber], config));

/** The entry that stores the outboxes of a subscriber, on condition of the version that was read. */
export const rowEntry = ({ task }: OutboxRow, outboxes: Outboxes): BundleEntry =>
  updateEntry(task, outboxesTask(outboxes, config, task));

export function newSubscriptionEntry(fullUrl: string, subscription: Subscription): BundleEntry {
  return { fullUrl, request: { method: 'POST', url: 'Subscription' }, resource: subscription };
}

/** The entry that stores a Subscription, on condition of the version that was read. */
export function subscriptionEntry(stored: Subscription, changed: Subscription): BundleEntry {
  return {
    request: { method: 'PUT', url: `Subscription/${stored.id}`, ifMatch: `W/"${stored.meta?.versionId}"` },
    resource: changed,
  };
}

/** The new state of an outbox, and that of its Subscription if it changes. */
export interface OutboxUpdate {
  readonly stored: SubscriptionOutbox;
  readonly outbox: Outbox;
  readonly subscription?: Subscription | undefined;
}

/** Copies the Subscription's heartbeat and end into its outbox, where they decide when it is due. */
function timed({ stored, outbox, subscription }: OutboxUpdate): Outbox {
  const settings = subscription ? storedParameters(subscription, config) : stored.settings;
  return { ...outbox, heartbeat: settings?.heartbeat, end: settings?.end };
}

/** Whether an outbox has the heartbeat and the end of its Subscription, which decide when it is due. */
export const isTimed = ({ outbox, settings }: SubscriptionOutbox): boolean =>
  outbox.heartbeat === settings?.heartbeat && outbox.end === settings?.end;

export const updated = (outboxes: Outboxes, updates: readonly OutboxUpdate[]): Outboxes =>
  updates.reduce((all, update) => withOutbox(all, update.stored.subscription.id, timed(update)), outboxes);

/**
 * Writes the outboxes of one subscriber in one transaction.
 * @param row - as it was read
 * @param updates - of some of them
 * @param more - what else is written with them
 * @returns the outboxes and the Subscriptions of the updates as they are afterwards; `overtaken` if anything had changed in
 *   the meantime, and nothing was written
 */
export async function writeOutboxes(
  medplum: MedplumClient,
  row: OutboxRow,
  updates: readonly OutboxUpdate[],
  more: {
    readonly change?: (outboxes: Outboxes) => Outboxes;
    readonly entries?: readonly BundleEntry[];
  } = {},
): Promise<SubscriberState | 'overtaken'> {
  const { change = (outboxes) => outboxes, entries = [] } = more;
  const outboxes = change(updated(row.outboxes, updates));
  const changed = updates.flatMap(({ stored, subscription }) =>
    subscription ? [subscriptionEntry(stored.subscription, subscription)] : [],
  );
  const written = await sendTransaction(medplum, [rowEntry(row, outboxes), ...changed, ...entries]);
  if (written.kind === 'overtaken') {
    return 'overtaken';
  }
  const resources = written.kind === 'done' ? written.bundle.entry?.flatMap(({ resource }) => resource ?? []) : [];
  const task = resources?.find((one) => isResource(one, 'Task'));
  if (!isResource(task, 'Task')) {
    throw new Error(`The outboxes of ${row.outboxes.subscriber} could not be written: ${written.kind}.`);
  }
  const after: OutboxRow = { task, outboxes };
  const rewritten = new Map(ofType('Subscription', resources).map((subscription) => [subscription.id, subscription]));
  const subscriptions = updates.flatMap(({ stored }) => {
    const { id } = stored.subscription;
    const subscription = rewritten.get(id);
    const outbox = outboxes.of.get(id) ?? stored.outbox;
    return subscription ? (joined(after, subscription) ?? []) : [{ ...stored, row: after, outbox }];
  });
  return { row: after, subscriptions };
}

/**
 * Writes one outbox, and its Subscription if that changes.
 * @returns the outbox as it is afterwards; `overtaken` as `writeOutboxes`
 */
export async function writeOutbox(
  medplum: MedplumClient,
  update: OutboxUpdate,
): Promise<SubscriptionOutbox | 'overtaken'> {
  const written = await writeOutboxes(medplum, update.stored.row, [update]);
  return written === 'overtaken' ? written : (written.subscriptions[0] ?? update.stored);
}
