import type { MedplumClient } from '@medplum/core';
import type { BundleEntry, Subscription, Task } from '@medplum/fhirtypes';
import {
  formerOutbox,
  formerQueries,
  formerStatusQuery,
  withTrueStatus,
} from '../../../core/notifications/delivery/former-outbox.ts';
import { type Outboxes, outboxesSearch, withOutbox } from '../../../core/notifications/delivery/outbox.ts';
import { config } from '../config.ts';
import { sendBundle, sendTransaction } from '../medplum.ts';
import { ofType, readInTransaction } from '../read.ts';
import { isTimed, newRowEntry, readSubscribers, rowsIn, subscriptionEntry, writeOutboxes } from './outbox-store.ts';

/** How many Tasks one search returns, and one transaction changes. */
const AT_ONCE = 100;

/** How many of these one run converts at most. */
const PORTIONS = 30;

/** An outbox that was converted says so, on condition of the version that was read; then it is deleted. */
const markEntry = (task: Task): BundleEntry => ({
  request: { method: 'PUT', url: `Task/${task.id}`, ifMatch: `W/"${task.meta?.versionId}"` },
  resource: { ...task, status: 'entered-in-error' },
});

/** Takes outboxes that an earlier version kept over into the row of their subscriber. */
async function takeOver(medplum: MedplumClient, subscriber: string, tasks: readonly Task[]): Promise<void> {
  await sendTransaction(medplum, [newRowEntry(subscriber)]);
  const [found = []] = await readInTransaction(medplum, [outboxesSearch([subscriber], config)]);
  const [row] = rowsIn(found);
  const former = tasks.flatMap((task) => formerOutbox(task) ?? []);
  const change = (outboxes: Outboxes): Outboxes => ({
    ...former.reduce((all, one) => withOutbox(all, one.subscription, one.outbox), outboxes),
    readable: [...new Set([...outboxes.readable, ...former.flatMap(({ readable }) => readable)])],
  });
  await (row && writeOutboxes(medplum, row, [], { change, entries: tasks.map(markEntry) }));
  const [state] = await readSubscribers(medplum, [subscriber]);
  const untimed = state?.subscriptions.filter((stored) => !isTimed(stored)) ?? [];
  if (state && untimed.length > 0) {
    const updates = untimed.map((stored) => ({ stored, outbox: stored.outbox }));
    await writeOutboxes(medplum, state.row, updates);
  }
}

/** Stores the status that Subscriptions have. */
async function storeStatus(medplum: MedplumClient, found: readonly Subscription[]): Promise<void> {
  const entry = found.map((one) => subscriptionEntry(one, withTrueStatus(one)));
  await (entry.length > 0 && sendBundle(medplum, { resourceType: 'Bundle', type: 'batch', entry }));
}

/**
 * Converts what earlier versions have stored: outboxes, one for each Subscription, become the rows of their subscribers,
 * with everything that they record, and Subscriptions get the status that they have. What changes meanwhile is converted
 * by the next run.
 *
 * @throws Error when the server does not answer
 */
export async function convertOutboxes(medplum: MedplumClient): Promise<void> {
  for (let portion = 0; portion < PORTIONS; portion++) {
    const [marked, ...found] = await readInTransaction(medplum, [
      formerStatusQuery(AT_ONCE),
      ...formerQueries(AT_ONCE, config),
    ]);
    const subscriptions = ofType('Subscription', marked);
    await storeStatus(medplum, subscriptions);
    const [waiting = [], ...leftovers] = found.map((resources) => ofType('Task', resources));
    const bySubscriber = Map.groupBy(waiting, ({ groupIdentifier }) => groupIdentifier?.value ?? '');
    for (const [subscriber, tasks] of bySubscriber) {
      await takeOver(medplum, subscriber, tasks);
    }
    const gone = leftovers.flat();
    if (gone.length > 0) {
      await sendTransaction(
        medplum,
        gone.map(({ id }) => ({ request: { method: 'DELETE', url: `Task/${id}` } })),
      );
    }
    if (Math.max(waiting.length, subscriptions.length) < AT_ONCE && gone.length === 0) {
      return;
    }
  }
}
