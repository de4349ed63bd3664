import type { MedplumClient } from '@medplum/core';
import type { Task } from '@medplum/fhirtypes';
import { artefactUri } from '../core/config/config.ts';
import {
  CHANGED_AT_ONCE,
  CHECKPOINT,
  changedQuery,
  checkpointTask,
  OVERLAP,
} from '../core/notifications/delivery/checkpoint.ts';
import { isDue, woken } from '../core/notifications/delivery/delivery-state.ts';
import { awaitsHandshake } from '../core/notifications/delivery/outbox.ts';
import { mapConcurrently } from './lib/concurrency.ts';
import { config } from './lib/config.ts';
import { sendTransaction } from './lib/medplum.ts';
import { BATCH_SIZE, recordEvents } from './lib/notifications/event-writer.ts';
import { readOpenOutboxes, type SubscriptionOutbox, writeOutbox } from './lib/notifications/outbox-store.ts';
import { ofType, readInTransaction } from './lib/read.ts';

/** After so many milliseconds what is left to be announced is left to the next run: the Bot has ten seconds. */
const PATIENCE = 6_000;

const cursorSearch = (): string => `code=${encodeURIComponent(`${artefactUri(config, 'LocalTask')}|${CHECKPOINT}`)}`;

/** How many deliveries are started at the same time. */
const AT_ONCE = 4;

/**
 * Whether a delivery must be started: one is due again, has died, the Subscription is over, or it was requested anew and
 * the delivery that was under way did not see it.
 */
function mustWake({ subscription, outbox, settings, task }: SubscriptionOutbox, now: number): boolean {
  const isOver = settings?.end !== undefined && settings.end <= now && outbox.status !== 'in-progress';
  const isRequested = subscription.status === 'requested' && awaitsHandshake(outbox);
  return isOver || isRequested || isDue(outbox, settings?.heartbeat, Date.parse(task.meta?.lastUpdated ?? ''), now);
}

/** Starts deliveries; an outbox that has changed meanwhile needs no waking. */
async function wake(medplum: MedplumClient, mailboxes: readonly SubscriptionOutbox[]): Promise<void> {
  const due = mailboxes.filter((mailbox) => mustWake(mailbox, Date.now()));
  await mapConcurrently(due, AT_ONCE, (mailbox) =>
    writeOutbox(medplum, mailbox, { outbox: woken(mailbox.outbox, Date.now()) }),
  );
}

async function moveCursor(medplum: MedplumClient, stored: Task | undefined, until: number): Promise<void> {
  const resource = checkpointTask(until, config, stored);
  const request = stored
    ? { method: 'PUT' as const, url: `Task/${stored.id}`, ifMatch: `W/"${stored.meta?.versionId}"` }
    : { method: 'POST' as const, url: 'Task', ifNoneExist: cursorSearch() };
  await sendTransaction(medplum, [{ request, resource }]);
}

/** Announces what changed lately and was not announced: the job that should have done it never ran, or has failed. */
async function catchUp(medplum: MedplumClient, cursor: Task | undefined, isListened: boolean): Promise<void> {
  const start = Date.now();
  const [found] = isListened ? await readInTransaction(medplum, [changedQuery(cursor, start)]) : [];
  const changed = ofType('Appointment', found);
  let done = 0;
  while (done < changed.length && Date.now() - start < PATIENCE) {
    const some = changed.slice(done, done + BATCH_SIZE);
    await recordEvents(
      medplum,
      some.flatMap(({ id }) => id ?? []),
    );
    done += some.length;
  }
  const isAll = done === changed.length && changed.length < CHANGED_AT_ONCE;
  const until = Date.parse(changed[done - 1]?.meta?.lastUpdated ?? '') + OVERLAP;
  await moveCursor(medplum, cursor, isAll ? start : Math.min(until, start));
}

/**
 * Runs every minute and starts what is due: deliveries whose time for the next attempt has come, or that have died,
 * heartbeats, the end of Subscriptions; and announces what was changed and not announced.
 *
 * @throws Error when Medplum does not answer; the next run does it
 */
export async function handler(medplum: MedplumClient): Promise<void> {
  const [cursors] = await readInTransaction(medplum, [`Task?${cursorSearch()}`]);
  const mailboxes = await readOpenOutboxes(medplum);
  const [cursor] = ofType('Task', cursors);
  await mapConcurrently(
    [() => wake(medplum, mailboxes), () => catchUp(medplum, cursor, mailboxes.length > 0)],
    1,
    (act) => act(),
  );
}
