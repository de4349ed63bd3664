import type { MedplumClient } from '@medplum/core';
import type { Communication } from '@medplum/fhirtypes';
import { formatInstant } from '../../../../core/fhir/instant.ts';
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
import { ofType, readInTransaction } from '../../read.ts';
import { readOpenRows, readSubscriptionsOf, type SubscriptionOutbox } from '../outbox-store.ts';
import { isCut, momentOf, readAppointmentHistories } from './appointment-histories.ts';
import { formerPatients, type MergedPatients, readMergedPatients } from './merged-patients.ts';

/** The most resources that one search returns. */
const MAX = 1000;

/**
 * How many appointments are processed together: the events of one Subscription about their newest versions fit into one
 * search, and these versions into an answer, however long their texts are.
 */
export const BATCH_SIZE = 5;

/** Everything that decides which events are recorded. */
export interface EventState {
  readonly outboxes: readonly SubscriptionOutbox[];
  readonly changes: readonly Change[];
  readonly events: readonly Communication[];
  /** Ids of the appointments that were deleted. */
  readonly gone: ReadonlySet<string>;
  /** The patients that were merged into those of the appointments. */
  readonly merged: MergedPatients;
}

/**
 * Outboxes are read first, so that concurrent changes make the later write fail. Outboxes and events are read in
 * transactions, which a server with a read replica answers from its primary database. Histories may come from the
 * replica: a history without the current version is not used.
 *
 * @param tags - only the outboxes that appointments with these tags concern are read
 * @throws Error when a history lags behind
 */
export async function readEventState(
  medplum: MedplumClient,
  ids: readonly string[],
  tags: ReadonlySet<string> | 'any',
): Promise<EventState> {
  const rows = await readOpenRows(medplum, tags === 'any' ? undefined : concernQuery(tags, config));
  if (rows.length === 0) {
    return { outboxes: [], changes: [], events: [], gone: new Set(), merged: [] };
  }
  const about = ids.map((id) => `Appointment/${id}`);
  const [outboxes, [events, current]] = await Promise.all([
    readSubscriptionsOf(medplum, rows),
    readInTransaction(medplum, [
      `Communication?based-on=${about.join(',')}&_count=${MAX}`,
      `Appointment?_id=${ids.join(',')}&_count=${MAX}`,
    ]),
  ]);
  const histories = await readAppointmentHistories(medplum, about, outboxes);
  const versions = histories.map((history) => versionsIn(history, Date.now()));
  const existing = new Map(ofType('Appointment', current).map(({ id, meta }) => [id, meta?.versionId]));
  if (!ids.every((id, index) => isCurrent(versions[index], existing.get(id)))) {
    throw new Error(
      'The histories lag behind the appointments (a read replica?); the Bot retry-deliveries tries again.',
    );
  }
  const found = ofType('Communication', events);
  const changes = versions.flatMap((one, index) => changesOf(one, config, isCut(histories[index]))).sort(byTime);
  const gone = new Set(ids.filter((id) => !existing.has(id)));
  return {
    outboxes,
    gone,
    changes,
    merged: await readMergedPatients(medplum, outboxes, changes),
    events: found.length < MAX ? found : await readEventsOfEach(medplum, ids, versions, gone),
  };
}

/** Whether a history has the current version of an appointment, or, if the appointment is gone, its deletion. */
function isCurrent(versions: readonly Version[] = [], current: string | undefined): boolean {
  return current === undefined
    ? isDeletion(versions[0])
    : versions.some((version) => !isDeletion(version) && version.meta?.versionId === current);
}

/** The events about an appointment from a moment on, page by page. */
async function readEventsSince(medplum: MedplumClient, id: string, moment: number): Promise<Communication[]> {
  const events = new Map<string | undefined, Communication>();
  let since = formatInstant(moment);
  for (;;) {
    const search = `Communication?based-on=Appointment/${id}&sent=ge${since}&_sort=sent&_count=${MAX}`;
    const page = ofType('Communication', (await readInTransaction(medplum, [search]))[0]);
    const known = events.size;
    for (const communication of page) {
      events.set(communication.id, communication);
    }
    if (page.length < MAX || events.size === known) {
      return [...events.values()];
    }
    since = page.at(-1)?.sent ?? since;
  }
}

/**
 * The same events, read appointment by appointment, because they are too many for one search: those about the versions
 * that were read, and all of a deleted appointment, which say who was told of it.
 */
async function readEventsOfEach(
  medplum: MedplumClient,
  ids: readonly string[],
  versions: readonly (readonly Version[])[],
  gone: ReadonlySet<string>,
): Promise<Communication[]> {
  const events: Communication[] = [];
  for (const [index, id] of ids.entries()) {
    const oldest = gone.has(id) ? 0 : momentOf(versions[index]?.at(-1)) || 0;
    events.push(...(await readEventsSince(medplum, id, oldest)));
  }
  return events;
}

const timeOf = ({ current, deleted }: Change): number => Date.parse(deleted ?? current.meta?.lastUpdated ?? '');

const byTime = (change: Change, other: Change): number => timeOf(change) - timeOf(other);

/** The events that a Subscription already has. */
export function knownEvents({ events }: EventState, subscriptionId: string): Event[] {
  return events.flatMap((event) => eventOf(event, subscriptionId, config) ?? []);
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
  const { subscription, settings, outbox, row } = stored;
  const owner = row.outboxes.subscriber;
  const isListening = settings && subscription.status !== 'off';
  if (!isListening) {
    return [];
  }
  const known = new Set(knownEvents(state, subscription.id).map(eventKey));
  const formerOf = formerPatients(state.merged, stored);
  const subscriber = { owner, settings, since: recordedSince(outbox.since, Date.now(), config), formerOf };
  return newEvents(state.changes.filter(isReadable), subscriber, known, outbox.events, config);
}
