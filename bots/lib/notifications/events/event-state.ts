import type { MedplumClient } from '@medplum/core';
import type { Communication } from '@medplum/fhirtypes';
import { recordedSince } from '../../../../core/notifications/delivery/retention.ts';
import {
  type Change,
  changesOf,
  isDeletion,
  newEvents,
  type Version,
  versionsIn,
} from '../../../../core/notifications/events/appointment-events.ts';
import { concernQuery } from '../../../../core/notifications/events/concern.ts';
import { type Event, eventKey, eventOf } from '../../../../core/notifications/events/event.ts';
import { config } from '../../config.ts';
import { ofType, readHistories, readInTransaction } from '../../read.ts';
import { readOpenOutboxes, type SubscriptionOutbox } from '../outbox-store.ts';
import { formerPatients, type MergedPatients, readMergedPatients } from './merged-patients.ts';

/** The newest versions of an appointment that are looked at. */
const VERSIONS = 200;

/** The most resources that one search gives. */
const MOST = 1000;

/** How many appointments are looked at together: the events of one Subscription about them fit into one search. */
export const BATCH_SIZE = MOST / VERSIONS;

/** Everything that decides about events. */
export interface EventState {
  readonly outboxes: readonly SubscriptionOutbox[];
  readonly changes: readonly Change[];
  readonly events: readonly Communication[];
  /** Ids of the appointments that were deleted. */
  readonly gone: ReadonlySet<string>;
  /** Who was merged into the patients of the appointments. */
  readonly merged: MergedPatients;
}

/**
 * Outboxes are read first, so that concurrent changes make the later write fail. Outboxes and events are read in
 * transactions, which a server with a read replica answers from its primary database. Histories may come from the replica:
 * one without the current version is not used.
 *
 * @param tags - only the outboxes are read that appointments with these tags concern
 * @throws Error when a history lags behind
 */
export async function readEventState(
  medplum: MedplumClient,
  ids: readonly string[],
  tags: ReadonlySet<string> | 'any',
): Promise<EventState> {
  const outboxes = await readOpenOutboxes(medplum, tags === 'any' ? undefined : concernQuery(tags, config));
  if (outboxes.length === 0) {
    return { outboxes, changes: [], events: [], gone: new Set(), merged: [] };
  }
  const about = ids.map((id) => `Appointment/${id}`);
  const [events, current] = await readInTransaction(medplum, [
    `Communication?based-on=${about.join(',')}&_count=${MOST}`,
    `Appointment?_id=${ids.join(',')}&_count=${MOST}`,
  ]);
  const histories = await readHistories(
    medplum,
    about.map((reference) => `${reference}/_history?_count=${VERSIONS}`),
  );
  const versions = histories.map((history) => versionsIn(history, Date.now()));
  const existing = new Map(ofType('Appointment', current).map(({ id, meta }) => [id, meta?.versionId]));
  if (!ids.every((id, index) => isCurrent(versions[index], existing.get(id)))) {
    throw new Error(
      'The histories lag behind the appointments (a read replica?); the Bot retry-deliveries tries again.',
    );
  }
  const found = ofType('Communication', events);
  const changes = versions
    .flatMap((one, index) => changesOf(one, config, (histories[index]?.total ?? 0) > VERSIONS))
    .sort(byTime);
  return {
    outboxes,
    gone: new Set(ids.filter((id) => !existing.has(id))),
    changes,
    merged: await readMergedPatients(medplum, outboxes, changes),
    events: found.length < MOST ? found : await readEventsOfEach(medplum, outboxes, about),
  };
}

/** Whether a history has the version that an appointment has now, or the deletion of one that is not there. */
function isCurrent(versions: readonly Version[] = [], current: string | undefined): boolean {
  return current === undefined
    ? isDeletion(versions[0])
    : versions.some((one) => !isDeletion(one) && one.meta?.versionId === current);
}

/** The same events Subscription by Subscription, where they are too many for one search. */
async function readEventsOfEach(
  medplum: MedplumClient,
  outboxes: readonly SubscriptionOutbox[],
  about: readonly string[],
): Promise<Communication[]> {
  const search = ({ subscription }: SubscriptionOutbox): string =>
    `Communication?part-of=Subscription/${subscription.id}&based-on=${about.join(',')}&_count=${MOST}`;
  const found = await readInTransaction(medplum, outboxes.map(search));
  return found.flatMap((resources) => ofType('Communication', resources));
}

const timeOf = ({ current, deleted }: Change): number => Date.parse(deleted ?? current.meta?.lastUpdated ?? '');

const byTime = (one: Change, other: Change): number => timeOf(one) - timeOf(other);

/** The events that a Subscription has already. */
export function knownEvents({ events }: EventState, subscriptionId: string): Event[] {
  const own = events.filter(({ partOf }) => partOf?.[0]?.reference === `Subscription/${subscriptionId}`);
  return own.flatMap((event) => eventOf(event, config) ?? []);
}

/**
 * The events that a Subscription does not have yet.
 *
 * @param isReadable - whether its subscriber may be told of a change
 */
export function missingEvents(
  state: EventState,
  stored: SubscriptionOutbox,
  isReadable: (change: Change) => boolean,
): Event[] {
  const { subscription, settings, owner, outbox } = stored;
  const isListening = settings && subscription.status !== 'off';
  if (!isListening) {
    return [];
  }
  const known = new Set(knownEvents(state, subscription.id).map(eventKey));
  const formerOf = formerPatients(state.merged, stored);
  const subscriber = { owner, settings, since: recordedSince(outbox.since, Date.now(), config), formerOf };
  return newEvents(state.changes.filter(isReadable), subscriber, known, outbox.events, config);
}
