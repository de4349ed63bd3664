import type { MedplumClient } from '@medplum/core';
import type { BundleEntry, Resource, Subscription, Task } from '@medplum/fhirtypes';
import { artefactUri } from '../../config/config.ts';
import { isResource } from '../../fhir/resource.ts';
import { requestorTag } from '../../fhir/tags.ts';
import { asShown } from '../../notifications/channel.ts';
import { OUTBOX, type Outbox, outboxOf, outboxTask } from '../../notifications/outbox.ts';
import { readSettings, type Settings } from '../../notifications/settings.ts';
import { config } from './config.ts';
import { exchange } from './exchange.ts';
import { ofType, readTogether } from './read.ts';

/** A Subscription and its outbox, as they were read together. */
export interface Mailbox {
  readonly subscription: Subscription & { readonly id: string };
  /** What the Subscription asks for; absent if that can no longer be read, for example since the configuration changed. */
  readonly settings: Settings | undefined;
  /** Id of the profile that owns the Subscription. */
  readonly owner: string;
  readonly task: Task;
  readonly outbox: Outbox;
}

/** How many outboxes one search gives: Medplum gives no more than a thousand resources with those that are included. */
const PAGE = 400;

/**
 * The search that finds outboxes with their Subscriptions, a page of them.
 *
 * @param narrowing - further search parameters, beginning with `&`
 * @param offset - how many are left out
 */
export function outboxQuery(narrowing = '', offset = 0): string {
  const code = encodeURIComponent(`${artefactUri(config, 'LocalTask')}|${OUTBOX}`);
  return `Task?code=${code}${narrowing}&_include=Task:focus&_sort=_id&_count=${PAGE}&_offset=${offset}`;
}

/**
 * The mailboxes in the first page of `outboxQuery`, and those of all further pages.
 *
 * @param first - what `outboxQuery(narrowing)` has found
 * @throws Error when the server does not answer
 */
export async function allMailboxes(
  medplum: MedplumClient,
  narrowing: string,
  first: readonly Resource[] = [],
): Promise<Mailbox[]> {
  const mailboxes = mailboxesIn(first);
  let page: readonly Resource[] = first;
  for (let offset = PAGE; ofType('Task', page).length === PAGE; offset += PAGE) {
    page = (await readTogether(medplum, [outboxQuery(narrowing, offset)]))[0] ?? [];
    mailboxes.push(...mailboxesIn(page));
  }
  return mailboxes;
}

/** Narrows the search for outboxes to those that events are still written to. */
export const OPEN = '&status=ready,in-progress,on-hold,accepted,failed';

function ownerOf({ meta }: Subscription): string {
  const { system } = requestorTag('', config);
  return meta?.tag?.find((tag) => tag.system === system)?.code ?? '';
}

/** The mailboxes in what `outboxQuery` has found. */
export function mailboxesIn(resources: readonly Resource[] = []): Mailbox[] {
  const subscriptions = new Map(ofType('Subscription', resources).map((one) => [`Subscription/${one.id}`, one]));
  return ofType('Task', resources).flatMap((task) => {
    const subscription = subscriptions.get(task.focus?.reference ?? '');
    const outbox = outboxOf(task);
    if (!subscription?.id || !outbox) {
      return [];
    }
    const { settings } = readSettings(asShown(subscription), config);
    return [
      { subscription: { ...subscription, id: subscription.id }, settings, owner: ownerOf(subscription), task, outbox },
    ];
  });
}

/** Reads the mailbox of a Subscription. */
export async function readMailbox(medplum: MedplumClient, subscriptionId: string): Promise<Mailbox | undefined> {
  const [found] = await readTogether(medplum, [outboxQuery(`&focus=Subscription/${subscriptionId}`)]);
  return mailboxesIn(found)[0];
}

/** The entry that stores an outbox, if it still is as it was read. */
export function outboxEntry({ task, subscription }: Mailbox, outbox: Outbox): BundleEntry {
  return {
    request: { method: 'PUT', url: `Task/${task.id}`, ifMatch: `W/"${task.meta?.versionId}"` },
    resource: outboxTask(outbox, `Subscription/${subscription.id}`, config, task),
  };
}

/** The entry that stores a Subscription, if it still is as it was read. */
export function subscriptionEntry(stored: Subscription, changed: Subscription): BundleEntry {
  return {
    request: { method: 'PUT', url: `Subscription/${stored.id}`, ifMatch: `W/"${stored.meta?.versionId}"` },
    resource: changed,
  };
}

/** What is to be written: a new state of the outbox, of the Subscription if that changes too, and other entries. */
export interface Update {
  readonly outbox: Outbox;
  readonly subscription?: Subscription | undefined;
  readonly entries?: readonly BundleEntry[];
}

/**
 * Writes a mailbox in one transaction.
 *
 * @returns the mailbox as it is then; `overtaken` if it had changed meanwhile, and nothing was written
 * @throws Error when the server does not answer or refuses it
 */
export async function writeMailbox(
  medplum: MedplumClient,
  mailbox: Mailbox,
  { outbox, subscription, entries = [] }: Update,
): Promise<Mailbox | 'overtaken'> {
  const entry = [
    outboxEntry(mailbox, outbox),
    ...(subscription ? [subscriptionEntry(mailbox.subscription, subscription)] : []),
    ...entries,
  ];
  const written = await exchange(medplum, { resourceType: 'Bundle', type: 'transaction', entry });
  if (written.kind === 'overtaken') {
    return 'overtaken';
  }
  const [task, stored] = written.kind === 'done' ? (written.bundle.entry ?? []).map(({ resource }) => resource) : [];
  if (!isResource(task, 'Task')) {
    throw new Error(`The outbox of Subscription/${mailbox.subscription.id} could not be written: ${written.kind}.`);
  }
  const changed = subscription && isResource(stored, 'Subscription') ? stored : mailbox.subscription;
  return { ...mailbox, task, outbox, subscription: { ...changed, id: mailbox.subscription.id } };
}
