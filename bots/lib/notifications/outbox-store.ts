import type { MedplumClient } from '@medplum/core';
import type { BundleEntry, Resource, Subscription, Task } from '@medplum/fhirtypes';
import { isResource } from '../../../core/fhir/resource.ts';
import { ownerOf } from '../../../core/fhir/tags.ts';
import {
  type DeliveryTimes,
  dueAt,
  dueIn,
  type Outbox,
  outboxCodeQuery,
  outboxOf,
  outboxTask,
} from '../../../core/notifications/delivery/outbox.ts';
import {
  hasStoredStatus,
  withPublicStatus,
  withStoredStatus,
} from '../../../core/notifications/subscription/stored-status.ts';
import {
  type SubscriptionParameters,
  storedParameters,
} from '../../../core/notifications/subscription/subscription-parameters.ts';
import { mapConcurrently } from '../concurrency.ts';
import { config } from '../config.ts';
import { type BundleAnswer, sendTransaction } from '../medplum.ts';
import { ofType, readInTransaction } from '../read.ts';

/** A Subscription and its outbox, as they were read together. */
export interface SubscriptionOutbox {
  /** With the status that subscribers see. */
  readonly subscription: Subscription & { readonly id: string };
  /** Whether its status in Medplum is the one that the service stored; if not, someone has set another one there. */
  readonly hasStoredStatus: boolean;
  /**
   * The parameters of the Subscription; absent if they are no longer valid, for example after the configuration has
   * changed.
   */
  readonly settings: SubscriptionParameters | undefined;
  /** Id of the profile that owns the Subscription. */
  readonly owner: string;
  readonly task: Task;
  readonly outbox: Outbox;
}

/** How many outboxes one search returns: the most that Medplum allows. */
const PAGE = 1000;

/** For how many Subscriptions one search asks for the outboxes. */
const CHUNK = 100;

/** Which outboxes are wanted: those to which events are still written, or those of some Subscriptions, by their ids. */
type OutboxSelection = 'open' | readonly string[];

/** The statuses of outboxes to which events are still written. */
export const OPEN = 'ready,received,in-progress,on-hold,accepted,failed';

/**
 * The searches that find outboxes and their Subscriptions, a page of both; `offset` is how many of each are skipped.
 *
 * @param concerned - the value of `concernQuery`, if only the outboxes that some appointments concern are wanted
 */
function outboxQueries(
  wanted: OutboxSelection,
  offset = 0,
  concerned?: string,
): [tasks: string, subscriptions: string] {
  const [own, has] = ['identifier', '_has:Task:focus:identifier'].map((name) =>
    concerned === undefined ? '' : `&${name}=${encodeURIComponent(concerned)}`,
  );
  const code = outboxCodeQuery(config);
  const page = `_sort=_id&_count=${PAGE}&_offset=${offset}`;
  return wanted === 'open'
    ? [
        `Task?${code}&status=${OPEN}${own}&${page}`,
        `Subscription?_has:Task:focus:${code}&_has:Task:focus:status=${OPEN}${has}&${page}`,
      ]
    : [
        `Task?${code}&focus=${wanted.map((id) => `Subscription/${id}`).join(',')}&${page}`,
        `Subscription?_id=${wanted.join(',')}&${page}`,
      ];
}

/**
 * Reads all open outboxes with their Subscriptions, page by page.
 *
 * @param concerned - the value of `concernQuery`, if only the outboxes that some appointments concern are wanted
 * @throws Error when the server does not answer
 */
export async function readOpenOutboxes(medplum: MedplumClient, concerned?: string): Promise<SubscriptionOutbox[]> {
  const found: Resource[][] = [];
  let page: Resource[][];
  do {
    page = await readInTransaction(medplum, outboxQueries('open', found.length * PAGE, concerned));
    found.push(page.flat());
  } while (page.some(({ length }) => length === PAGE));
  return outboxesIn(found.flat());
}

/**
 * A Subscription with the status that subscribers see. If the service has given one up, setting it to active in Medplum
 * requests it again: it begins with a handshake.
 */
function followed(
  subscription: Subscription,
  { status }: Outbox,
): Pick<SubscriptionOutbox, 'hasStoredStatus'> & {
  readonly subscription: Subscription;
} {
  const shown = withPublicStatus(subscription);
  const isGivenUp = status === 'failed' || status === 'cancelled';
  return isGivenUp && shown.status === 'active'
    ? { subscription: { ...shown, status: 'requested' }, hasStoredStatus: false }
    : { subscription: shown, hasStoredStatus: hasStoredStatus(subscription) };
}

/** The outboxes and their Subscriptions in what `outboxQueries` has found. */
function outboxesIn(resources: readonly Resource[]): SubscriptionOutbox[] {
  const subscriptions = new Map(ofType('Subscription', resources).map((one) => [`Subscription/${one.id}`, one]));
  return ofType('Task', resources).flatMap((task) => {
    const subscription = subscriptions.get(task.focus?.reference ?? '');
    const outbox = outboxOf(task);
    if (!subscription?.id || !outbox) {
      return [];
    }
    const known = followed(subscription, outbox);
    return [
      {
        subscription: { ...known.subscription, id: subscription.id },
        hasStoredStatus: known.hasStoredStatus,
        settings: storedParameters(subscription, config),
        owner: ownerOf(subscription, config) ?? '',
        task,
        outbox,
      },
    ];
  });
}

/**
 * Reads Subscriptions, by their ids, with their outboxes; those without an outbox are left out.
 *
 * @throws Error when the server does not answer
 */
export async function readOutboxes(medplum: MedplumClient, ids: readonly string[]): Promise<SubscriptionOutbox[]> {
  const chunks = Array.from({ length: Math.ceil(ids.length / CHUNK) }, (_, index) =>
    ids.slice(index * CHUNK, (index + 1) * CHUNK),
  );
  const found = await readInTransaction(
    medplum,
    chunks.flatMap((chunk) => outboxQueries(chunk)),
  );
  return outboxesIn(found.flat());
}

/** Reads the outbox of a Subscription. */
export const readOutbox = async (
  medplum: MedplumClient,
  subscriptionId: string,
): Promise<SubscriptionOutbox | undefined> => (await readOutboxes(medplum, [subscriptionId]))[0];

/** Those settings of a Subscription that decide when its outbox is due. */
function timesOf(subscription: Subscription): DeliveryTimes {
  const { heartbeat, end } = storedParameters(subscription, config) ?? {};
  return { heartbeat, end };
}

/** Whether the Task of an outbox says correctly when the clock must look at it. */
export const isTimed = ({ outbox, settings, task }: SubscriptionOutbox): boolean =>
  dueIn(task) === dueAt(outbox, settings ?? {});

/**
 * The entry that stores an outbox, on condition of the version that was read.
 *
 * @param subscription - as it will be from then on
 */
export function outboxEntry(
  { task, owner, ...stored }: SubscriptionOutbox,
  outbox: Outbox,
  subscription: Subscription = stored.subscription,
): BundleEntry {
  const id = `Subscription/${stored.subscription.id}`;
  const owned = { subscription: id, subscriber: owner, ...timesOf(subscription) };
  return {
    request: { method: 'PUT', url: `Task/${task.id}`, ifMatch: `W/"${task.meta?.versionId}"` },
    resource: outboxTask(outbox, owned, config, task),
  };
}

/** The entry that stores a new Subscription. */
export function newSubscriptionEntry(fullUrl: string, subscription: Subscription): BundleEntry {
  return { fullUrl, request: { method: 'POST', url: 'Subscription' }, resource: withStoredStatus(subscription) };
}

/** The entry that stores a Subscription, on condition of the version that was read. */
export function subscriptionEntry(stored: Subscription, changed: Subscription): BundleEntry {
  return {
    request: { method: 'PUT', url: `Subscription/${stored.id}`, ifMatch: `W/"${stored.meta?.versionId}"` },
    resource: withStoredStatus(changed),
  };
}

/** What to write: the new state of the outbox, that of the Subscription if it changes, and other entries. */
export interface OutboxUpdate {
  readonly outbox: Outbox;
  readonly subscription?: Subscription | undefined;
  readonly entries?: readonly BundleEntry[];
}

/**
 * The update of an outbox that also stores the status of its Subscription the way the service does, whoever has changed
 * it.
 */
export const withStatusStored = (stored: SubscriptionOutbox, outbox: Outbox): OutboxUpdate => ({
  outbox,
  ...(!stored.hasStoredStatus && { subscription: stored.subscription }),
});

const updateEntries = (
  stored: SubscriptionOutbox,
  { outbox, subscription, entries = [] }: OutboxUpdate,
): BundleEntry[] => [
  outboxEntry(stored, outbox, subscription),
  ...(subscription ? [subscriptionEntry(stored.subscription, subscription)] : []),
  ...entries,
];

/**
 * Writes an outbox in one transaction.
 *
 * @returns the outbox as it is afterwards; `overtaken` if it had changed in the meantime, and nothing was written
 * @throws Error when the server does not answer or refuses it
 */
export async function writeOutbox(
  medplum: MedplumClient,
  stored: SubscriptionOutbox,
  update: OutboxUpdate,
): Promise<SubscriptionOutbox | 'overtaken'> {
  const { outbox, subscription } = update;
  const written = await sendTransaction(medplum, updateEntries(stored, update));
  if (written.kind === 'overtaken') {
    return 'overtaken';
  }
  const answers = written.kind === 'done' ? written.bundle.entry : undefined;
  const [task, rewritten] = (answers ?? []).map(({ resource }) => resource);
  if (!isResource(task, 'Task')) {
    throw new Error(`The outbox of Subscription/${stored.subscription.id} could not be written: ${written.kind}.`);
  }
  const isRewritten = subscription !== undefined && isResource(rewritten, 'Subscription');
  const changed = isRewritten ? withPublicStatus(rewritten) : stored.subscription;
  return {
    ...stored,
    task,
    outbox,
    subscription: { ...changed, id: stored.subscription.id },
    hasStoredStatus: isRewritten || stored.hasStoredStatus,
  };
}

/** An outbox, and what is to be written to it. */
export interface PlannedUpdate {
  readonly stored: SubscriptionOutbox;
  readonly update: OutboxUpdate;
}

/** How many outboxes are written at the same time when each has a transaction of its own. */
const AT_ONCE = 4;

/**
 * Writes several outboxes in one transaction; if one of them had changed, or is refused, each is written in one of its
 * own.
 *
 * @returns whether all were written; if not, some had changed in the meantime
 * @throws Error when the server does not answer or refuses one of them
 */
export async function writeOutboxes(medplum: MedplumClient, planned: readonly PlannedUpdate[]): Promise<boolean> {
  if (planned.length > 1) {
    const entries = planned.flatMap(({ stored, update }) => updateEntries(stored, update));
    const { kind } = await sendTransaction(medplum, entries);
    if (kind !== 'overtaken' && kind !== 'invalid') {
      return isWritten(kind);
    }
  }
  const written = await mapConcurrently(planned, AT_ONCE, ({ stored, update }) => writeOutbox(medplum, stored, update));
  return written.every((one) => one !== 'overtaken');
}

function isWritten(kind: BundleAnswer['kind']): true {
  if (kind !== 'done') {
    throw new Error(`Outboxes could not be written: ${kind}.`);
  }
  return true;
}
