import type { MedplumClient } from '@medplum/core';
import type { Appointment, Resource, Task } from '@medplum/fhirtypes';
import { formatInstant } from '../../core/fhir/instant.ts';
import { updateEntry } from '../../core/fhir/resource.ts';
import { ownerOf } from '../../core/fhir/tags.ts';
import {
  ended,
  followed,
  LEASE,
  mustStart,
  OVERDUE,
  withStatus,
  woken,
} from '../../core/notifications/delivery/delivery-state.ts';
import {
  changedQuery,
  checkpointSearch,
  checkpointTask,
  MAX_CHANGED,
  OVERLAP,
  type Recorded,
  recordedSince,
  settledAt,
} from '../../core/notifications/delivery/retention.ts';
import { creation, rowSearch } from '../../core/rows/row.ts';
import { chunks } from '../../core/rows/search.ts';
import { mapConcurrently } from '../lib/concurrency.ts';
import { config } from '../lib/config.ts';
import { isRateLimit } from '../lib/medplum.ts';
import { followDeletions } from '../lib/notifications/events/deletions.ts';
import { BATCH_SIZE } from '../lib/notifications/events/event-state.ts';
import { recordEvents } from '../lib/notifications/events/event-writer.ts';
import {
  isTimed,
  OPEN,
  type OutboxUpdate,
  readSubscribers,
  type SubscriberState,
  type SubscriptionOutbox,
  writeOutboxes,
} from '../lib/notifications/outbox-store.ts';
import { ofType, readAll, readFormer, readInTransaction, readLeaving } from '../lib/read.ts';
import { carryOut, RUN_LIMIT, writeRows } from '../lib/rows.ts';

interface DueOutboxes {
  /** The checkpoint up to which the events of all changes are recorded. */
  readonly checkpoint: Task | undefined;
  /** Whether any outbox is open. */
  readonly isListened: boolean;
  /** Former subscribers with outboxes: found since the checkpoint, or among the current subscribers. */
  readonly former: readonly SubscriberState[];
  /** The subscribers with something due, or with a changed Subscription. */
  readonly subscribers: readonly SubscriberState[];
}

/**
 * The searches for the outboxes that are due by themselves, and for Subscriptions whose outboxes may have to follow them.
 */
function searches(checkpoint: Task | undefined, now: number): string[] {
  const rows = (narrowed: Readonly<Record<string, string>>): string =>
    rowSearch(['outboxes'], { ...narrowed, _fields: 'id,groupIdentifier' }, config);
  const settled = settledAt(checkpoint);
  const changed = settled === undefined ? '' : `_lastUpdated=ge${formatInstant(settled - OVERLAP)}&`;
  return [
    rows({ status: 'ready', _lastUpdated: `le${formatInstant(now - OVERDUE)}` }),
    rows({ status: 'in-progress,on-hold,accepted,failed', period: `le${formatInstant(now)}` }),
    // Claims of a delivery whose clock was ahead.
    rows({ status: 'in-progress', period: `sa${formatInstant(now + 2 * LEASE)}` }),
    'Subscription?status=requested&_fields=meta',
    `Subscription?${changed}_fields=meta`,
  ];
}

const subscriberOf = (resource: Resource): string | undefined =>
  resource.resourceType === 'Task' ? resource.groupIdentifier?.value : ownerOf(resource, config);

/**
 * Reads the state at the begin of a scheduled run. Subscribers for whom nothing is due are not read: a row itself says
 * when it is due, and a changed Subscription is read until every earlier change has been recorded.
 */
async function readDueOutboxes(medplum: MedplumClient, now: number): Promise<DueOutboxes> {
  const [checkpoints, open = []] = await readInTransaction(medplum, [
    checkpointSearch(config),
    rowSearch(['outboxes'], { status: OPEN, _fields: 'id', _count: '1' }, config),
  ]);
  const [checkpoint] = ofType('Task', checkpoints);
  const settled = settledAt(checkpoint);
  const found = await readAll(medplum, searches(checkpoint, now));
  const subscribers = [...new Set(found.flatMap((resource) => subscriberOf(resource) ?? []))];
  // A former subscriber may still have a token and create a Subscription.
  const former = new Set([
    ...(await readLeaving(medplum, settled && settled - OVERLAP)),
    ...(await readFormer(medplum, subscribers)),
  ]);
  const others = subscribers.filter((subscriber) => !former.has(subscriber));
  return {
    checkpoint,
    isListened: open.length > 0,
    former: await readSubscribers(medplum, [...former]),
    subscribers: await readSubscribers(medplum, others),
  };
}

/**
 * Switches off the Subscriptions of former subscribers: otherwise they would be notified for ever.
 * @returns whether all of them are off
 */
async function endThoseOfFormer(medplum: MedplumClient, former: readonly SubscriberState[]): Promise<boolean> {
  const open = former.filter(({ row }) => OPEN.split(',').includes(row.task.status));
  const written = await mapConcurrently(open, CONCURRENCY, ({ row, subscriptions }) =>
    writeOutboxes(
      medplum,
      row,
      subscriptions.map((stored) => ({
        stored,
        outbox: ended(stored.outbox),
        subscription: withStatus(stored.subscription, 'off', 'The subscriber has left the clinic.'),
      })),
    ),
  );
  return !written.includes('overtaken');
}

/** As `RUN_LIMIT`, for outboxes that follow their Subscriptions, so that enough time is left for the events. */
const TIMES_LIMIT = 2_000;

const CONCURRENCY = 4;

/** Updates for Subscriptions that others have changed: to follow the change, and to set when they are due. */
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
async function startDeliveries(
  medplum: MedplumClient,
  subscriberStates: readonly SubscriberState[],
  end: number,
): Promise<void> {
  const now = Date.now();
  await mapConcurrently(subscriberStates, CONCURRENCY, async ({ row, subscriptions }) => {
    const updates = followUps(subscriptions, now);
    const isStarted = mustStart(row.outboxes, Date.parse(row.task.meta?.lastUpdated ?? ''), now);
    if (isStarted || (updates.length > 0 && Date.now() < end)) {
      await writeOutboxes(medplum, row, updates, {
        change: (outboxes) => (isStarted ? woken(outboxes, now) : outboxes),
      });
    }
  });
}

async function moveCheckpoint(medplum: MedplumClient, stored: Task | undefined, recorded: Recorded): Promise<void> {
  const next = checkpointTask(recorded, config, stored);
  const entry = stored ? updateEntry(stored, next) : creation(next, checkpointSearch(config));
  await writeRows(medplum, [entry], 'How far all events are recorded');
}

/**
 * Records the missing events of appointments: first one transaction per subscriber and chunk, then the rest by
 * appointment. An appointment whose history cannot be read does not hold up the others.
 * @param missing - the appointments; removed once all their events are recorded
 * @param failed - receives the appointments that fail by themselves
 */
async function recordMissing(
  medplum: MedplumClient,
  missing: Set<Appointment>,
  failed: Set<Appointment>,
  end: number,
): Promise<void> {
  const appointments = [...missing];
  const record = (some: readonly Appointment[], isTime?: () => boolean) => async (): Promise<void> => {
    if (await recordEvents(medplum, some, 'concerned', isTime)) {
      for (const appointment of some) {
        missing.delete(appointment);
      }
    }
  };
  const recordOne = (appointment: Appointment, isTime?: () => boolean) => () =>
    record([appointment], isTime)().catch((error: unknown) => {
      // A rate limit of Medplum is no failure of this appointment.
      if (!isRateLimit(error)) {
        failed.add(appointment);
      }
      throw error;
    });
  function* acts() {
    for (const some of chunks(appointments, BATCH_SIZE)) {
      let hasFailed = false;
      yield () =>
        record(some)().catch(() => {
          hasFailed = true;
        });
      yield* hasFailed ? some.map((appointment) => recordOne(appointment)) : [];
    }
    const left = [...missing].filter((appointment) => !failed.has(appointment));
    yield* left.map((appointment) => recordOne(appointment, () => Date.now() < end));
  }
  await carryOut(acts(), end);
}

/** Time for which a failing appointment holds up the changes beyond one run's limit, in milliseconds. */
const PATIENCE = 60 * 60_000;

/** Records missing events of recent changes whose jobs never ran, failed, or left some. */
async function recordMissedEvents(
  medplum: MedplumClient,
  checkpoint: Task | undefined,
  isListened: boolean,
  areFormerOff: boolean,
): Promise<void> {
  const start = Date.now();
  const [found] = isListened ? await readInTransaction(medplum, [changedQuery(checkpoint, start)]) : [];
  const changed = ofType('Appointment', found);
  const missing = new Set(changed);
  const failed = new Set<Appointment>();
  try {
    await recordMissing(medplum, missing, failed, start + RUN_LIMIT);
  } finally {
    const isWhole = changed.length < MAX_CHANGED;
    const isAll = missing.size === 0 && isWhole;
    const [first, second] = changed.filter((appointment) => missing.has(appointment));
    const isLate = Date.parse(checkpoint?.meta?.lastUpdated ?? '') < start - PATIENCE;
    const isStuck = !isWhole && isLate && first !== undefined && failed.has(first);
    const next = (isStuck ? second : first) ?? changed.at(-1);
    const until = Math.min(Date.parse(next?.meta?.lastUpdated ?? '') + OVERLAP, start);
    await moveCheckpoint(
      medplum,
      checkpoint,
      isAll
        ? { until: start, settled: areFormerOff ? start : settledAt(checkpoint) }
        : { until: recordedSince(until, start, config), settled: settledAt(checkpoint) },
    );
  }
}

/**
 * Runs every minute: retries deliveries that are due or died, sends heartbeats, and ends expired Subscriptions. Records
 * missing events of changes, and follows deletions whose jobs were lost.
 */
export async function handler(medplum: MedplumClient): Promise<void> {
  const start = Date.now();
  const { checkpoint, isListened, former, subscribers } = await readDueOutboxes(medplum, start);
  let areFormerOff = false;
  await mapConcurrently(
    [
      () => startDeliveries(medplum, subscribers, start + TIMES_LIMIT),
      async () => {
        areFormerOff = await endThoseOfFormer(medplum, former);
      },
      () => recordMissedEvents(medplum, checkpoint, isListened, areFormerOff),
      () => followDeletions(medplum, start + RUN_LIMIT),
    ],
    1,
    (act) => act(),
  );
}
