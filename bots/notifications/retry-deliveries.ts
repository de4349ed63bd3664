import type { MedplumClient } from '@medplum/core';
import type { Appointment, Task } from '@medplum/fhirtypes';
import { updateEntry } from '../../core/fhir/update-entry.ts';
import {
  CHANGED_AT_ONCE,
  changedQuery,
  checkpointSearch,
  checkpointTask,
  OVERLAP,
  type Recorded,
  settledAt,
} from '../../core/notifications/delivery/checkpoint.ts';
import { followed, mustStart, woken } from '../../core/notifications/delivery/delivery-state.ts';
import { creation } from '../../core/rows/row.ts';
import { mapConcurrently } from '../lib/concurrency.ts';
import { config } from '../lib/config.ts';
import { convertOutboxes } from '../lib/notifications/convert-outboxes.ts';
import { readDueOutboxes } from '../lib/notifications/due-outboxes.ts';
import { followDeletions } from '../lib/notifications/events/deletions.ts';
import { BATCH_SIZE } from '../lib/notifications/events/event-state.ts';
import { recordEvents } from '../lib/notifications/events/event-writer.ts';
import {
  isTimed,
  type OutboxUpdate,
  type SubscriberState,
  type SubscriptionOutbox,
  writeOutboxes,
} from '../lib/notifications/outbox-store.ts';
import { ofType, readInTransaction } from '../lib/read.ts';
import { RUN_LIMIT, writeRows } from '../lib/rows.ts';

/** As `RUN_LIMIT`, for outboxes that follow their Subscriptions, so that enough time is left for the events. */
const TIMES_LIMIT = 2_000;

/** How many rows are written at the same time. */
const AT_ONCE = 4;

/** What the outboxes of Subscriptions need that were changed by others: to follow them, and to say when they are due. */
function followUps(subscriptions: readonly SubscriptionOutbox[], now: number): OutboxUpdate[] {
  return subscriptions.flatMap((stored) => {
    const { subscription, outbox } = stored;
    const next = followed(subscription, outbox, now) ?? (isTimed(stored) ? undefined : { outbox });
    return next ? [{ stored, ...next }] : [];
  });
}

/**
 * Starts the deliveries that are due, and lets outboxes follow Subscriptions that were changed by others. Rows that have
 * changed in the meantime are skipped; what is left when time runs out is found again by the next runs.
 */
async function startDeliveries(medplum: MedplumClient, all: readonly SubscriberState[], end: number): Promise<void> {
  const now = Date.now();
  await mapConcurrently(all, AT_ONCE, async ({ row, subscriptions }) => {
    const updates = followUps(subscriptions, now);
    const isStarted = mustStart(row.outboxes, Date.parse(row.task.meta?.lastUpdated ?? ''), now);
    if (isStarted || (updates.length > 0 && Date.now() < end)) {
      await writeOutboxes(medplum, row, updates, { change: (one) => (isStarted ? woken(one, now) : one) });
    }
  });
}

async function moveCheckpoint(medplum: MedplumClient, stored: Task | undefined, recorded: Recorded): Promise<void> {
  const next = checkpointTask(recorded, config, stored);
  const entry = stored ? updateEntry(stored, next) : creation(next, checkpointSearch(config));
  await writeRows(medplum, [entry], 'How far all events are recorded');
}

/**
 * Records the missing events of appointments: first a share of each subscriber's for all appointments, then what is left.
 *
 * @returns how many appointments, counted from the first, have all their events recorded
 */
async function recordMissing(
  medplum: MedplumClient,
  changed: readonly Appointment[],
  isTime: () => boolean,
): Promise<number> {
  const left: number[] = [];
  let looked = 0;
  while (looked < changed.length && isTime()) {
    if (!(await recordEvents(medplum, changed.slice(looked, looked + BATCH_SIZE)))) {
      left.push(looked);
    }
    looked += BATCH_SIZE;
  }
  for (const first of left) {
    const isComplete =
      isTime() && (await recordEvents(medplum, changed.slice(first, first + BATCH_SIZE), 'concerned', isTime));
    if (!isComplete) {
      return first;
    }
  }
  return Math.min(looked, changed.length);
}

/** Records missing events of recent changes whose jobs never ran, failed, or left some. */
async function recordMissedEvents(
  medplum: MedplumClient,
  checkpoint: Task | undefined,
  isListened: boolean,
): Promise<void> {
  const start = Date.now();
  const [found] = isListened ? await readInTransaction(medplum, [changedQuery(checkpoint, start)]) : [];
  const changed = ofType('Appointment', found);
  const done = await recordMissing(medplum, changed, () => Date.now() - start < RUN_LIMIT);
  const isAll = done === changed.length && changed.length < CHANGED_AT_ONCE;
  const next = changed[done] ?? changed.at(-1);
  const until = Date.parse(next?.meta?.lastUpdated ?? '') + OVERLAP;
  await moveCheckpoint(
    medplum,
    checkpoint,
    isAll ? { until: start, settled: start } : { until: Math.min(until, start), settled: settledAt(checkpoint) },
  );
}

/**
 * Runs every minute: retries deliveries that are due or died, sends heartbeats, and ends expired Subscriptions. Records
 * missing events of changes, and follows deletions whose jobs were lost.
 *
 * @throws Error when Medplum does not answer; the next run tries again
 */
export async function handler(medplum: MedplumClient): Promise<void> {
  const start = Date.now();
  await convertOutboxes(medplum);
  const { checkpoint, isListened, subscribers } = await readDueOutboxes(medplum, start);
  await mapConcurrently(
    [
      () => startDeliveries(medplum, subscribers, start + TIMES_LIMIT),
      () => recordMissedEvents(medplum, checkpoint, isListened),
      () => followDeletions(medplum, start + RUN_LIMIT),
    ],
    1,
    (act) => act(),
  );
}
