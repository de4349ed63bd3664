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
import { ofType, readInTransaction, readPages } from '../read.ts';
import { carryOut, RUN_LIMIT } from '../rows.ts';
import { isTimed, newRowEntry, readSubscribers, rowsIn, subscriptionEntry, writeOutboxes } from './outbox-store.ts';

/** How many Tasks one search returns, and one transaction changes. */
const AT_ONCE = 100;

/** An outbox that was converted says so, on condition of the version that was read; then it is deleted. */
const markEntry = (task: Task): BundleEntry => ({
  request: { method: 'PUT', url: `Task/${task.id}`, ifMatch: `W/"${task.meta?.versionId}"` },
  resource: { ...task, status: 'entered-in-error' },
});

/** Deletes what no longer says anything. */
async function discard(medplum: MedplumClient, tasks: readonly Task[]): Promise<void> {
  const entry = tasks.map(({ id }): BundleEntry => ({ request: { method: 'DELETE', url: `Task/${id}` } }));
  await (entry.length > 0 && sendTransaction(medplum, entry));
}

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
  const written = row && (await writeOutboxes(medplum, row, [], { change, entries: tasks.map(markEntry) }));
  await (written && written !== 'overtaken' && discard(medplum, tasks));
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
 * by the next run; one subscriber whose outboxes cannot be holds up no other.
 *
 * @throws Error with all failures
 */
export async function convertOutboxes(medplum: MedplumClient): Promise<void> {
  const searches = [formerStatusQuery, ...formerQueries(config)];
  const end = Date.now() + RUN_LIMIT;
  async function* acts() {
    for await (const pages of readPages(medplum, searches, { count: AT_ONCE, end })) {
      const [marked, waiting, ...leftovers] = pages;
      yield () => storeStatus(medplum, ofType('Subscription', marked));
      const bySubscriber = Map.groupBy(ofType('Task', waiting), ({ groupIdentifier }) => groupIdentifier?.value ?? '');
      yield* [...bySubscriber].map(
        ([subscriber, tasks]) =>
          () =>
            takeOver(medplum, subscriber, tasks),
      );
      yield () => discard(medplum, ofType('Task', leftovers.flat()));
    }
  }
  await carryOut(acts(), end);
}
