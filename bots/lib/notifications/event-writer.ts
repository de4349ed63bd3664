import type { MedplumClient } from '@medplum/core';
import type { Communication } from '@medplum/fhirtypes';
import { withNewEvents } from '../../../core/notifications/delivery/delivery-state.ts';
import { recordedSince } from '../../../core/notifications/delivery/retention.ts';
import {
  type Change,
  changesOf,
  isDeletion,
  newEvents,
  type Version,
  versionsIn,
} from '../../../core/notifications/events/appointment-events.ts';
import { type Event, eventKey, eventOf, eventResource } from '../../../core/notifications/events/event.ts';
import { couldRead, readableQuery } from '../../../core/notifications/events/read-access.ts';
import { mapConcurrently } from '../concurrency.ts';
import { config } from '../config.ts';
import { backOff } from '../medplum.ts';
import { ofType, readHistories, readInTransaction } from '../read.ts';
import { readOpenOutboxes, type SubscriptionOutbox, writeOutbox } from './outbox-store.ts';

/** How long new attempts are made when others are faster, in milliseconds: the Bot has ten seconds. */
const LIMIT = 7_000;

/** The newest versions of an appointment that are looked at. */
const VERSIONS = 200;

/** How many outboxes one Bot writes at once: the server has others to serve. */
const AT_ONCE = 4;

/** The most resources that one search gives. */
const MOST = 1000;

/** How many appointments are looked at together: the events of one Subscription about them fit into one search. */
export const BATCH_SIZE = MOST / VERSIONS;

/** Everything that decides about events. */
interface State {
  readonly outboxes: readonly SubscriptionOutbox[];
  readonly changes: readonly Change[];
  readonly events: readonly Communication[];
  /** Ids of the appointments that were deleted. */
  readonly gone: ReadonlySet<string>;
}

/**
 * Outboxes are read first, so that concurrent changes make the later write fail. Outboxes and events are read in
 * transactions, which a server with a read replica answers from its primary database. Histories may come from the replica:
 * one without the current version is not used.
 *
 * @throws Error when a history lags behind
 */
async function readState(medplum: MedplumClient, ids: readonly string[]): Promise<State> {
  const outboxes = await readOpenOutboxes(medplum);
  if (outboxes.length === 0) {
    return { outboxes, changes: [], events: [], gone: new Set() };
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
  return {
    outboxes,
    gone: new Set(ids.filter((id) => !existing.has(id))),
    changes: versions.flatMap((one) => changesOf(one, config)).sort(byTime),
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
function knownEvents({ events }: State, subscriptionId: string): Event[] {
  const own = events.filter(({ partOf }) => partOf?.[0]?.reference === `Subscription/${subscriptionId}`);
  return own.flatMap((event) => eventOf(event, config) ?? []);
}

function missingEvents(state: State, stored: SubscriptionOutbox, isReadable: (change: Change) => boolean): Event[] {
  const { subscription, settings, owner, outbox } = stored;
  const isListening = settings && subscription.status !== 'off';
  if (!isListening) {
    return [];
  }
  const known = new Set(knownEvents(state, subscription.id).map(eventKey));
  const subscriber = { owner, settings, since: recordedSince(outbox.since, Date.now(), config) };
  return newEvents(state.changes.filter(isReadable), subscriber, known, outbox.events, config);
}

/** Whether the appointments that a subscriber may read are among them. */
type MayRead = (stored: SubscriptionOutbox, appointment: string) => boolean;

/** Asks which appointments meet which criteria, each of them once. */
type AskRights = (outboxes: readonly SubscriptionOutbox[], ids: readonly string[]) => Promise<MayRead>;

function rightsOf(medplum: MedplumClient): AskRights {
  const known = new Map<string, boolean>();
  const key = (criteria: string, id: string): string => `${id} ${criteria}`;
  return async (outboxes, ids) => {
    const all = [...new Set(outboxes.flatMap(({ outbox }) => outbox.readable))];
    const criteria = all.filter((one) => ids.some((id) => !known.has(key(one, id))));
    const found = await readInTransaction(
      medplum,
      criteria.map((one) => readableQuery(one, ids)),
    );
    for (const [index, one] of criteria.entries()) {
      const met = new Set((found[index] ?? []).map(({ id }) => id));
      ids.forEach((id) => {
        known.set(key(one, id), met.has(id));
      });
    }
    return ({ outbox }, id) => outbox.readable.some((one) => known.get(key(one, id)) === true);
  };
}

/** Whether a subscriber may be notified of a change. Medplum no longer answers for deleted appointments. */
function mayBeTold(state: State, stored: SubscriptionOutbox, { current }: Change, mayRead: MayRead): boolean {
  const { id = '' } = current;
  if (!state.gone.has(id)) {
    return mayRead(stored, id);
  }
  const wasTold = knownEvents(state, stored.subscription.id).some(({ appointment }) => appointment === id);
  return couldRead(stored.outbox.readable, current, wasTold);
}

async function writeEvents(
  medplum: MedplumClient,
  stored: SubscriptionOutbox,
  events: readonly Event[],
): Promise<boolean> {
  const written = await writeOutbox(medplum, stored, {
    outbox: withNewEvents(stored.outbox, events.length),
    entries: events.map((event) => ({
      request: { method: 'POST', url: 'Communication' },
      resource: eventResource(event, stored.subscription.id, config),
    })),
  });
  return written !== 'overtaken';
}

/** One attempt; returns whether all events are recorded. */
async function attempt(medplum: MedplumClient, ids: readonly string[], askRights: AskRights): Promise<boolean> {
  const state = await readState(medplum, ids);
  const concerned = state.outboxes.filter((stored) => missingEvents(state, stored, () => true).length > 0);
  if (concerned.length === 0) {
    return true;
  }
  const mayRead = await askRights(concerned, ids);
  const planned = concerned.map((stored) => ({
    stored,
    events: missingEvents(state, stored, (change) => mayBeTold(state, stored, change, mayRead)),
  }));
  const needed = planned.filter(({ events }) => events.length > 0);
  const written = await mapConcurrently(needed, AT_ONCE, ({ stored, events }) => writeEvents(medplum, stored, events));
  return written.every((isWritten) => isWritten);
}

/** How far back changes count as simultaneous, in milliseconds, and how many of them are looked at together. */
const RECENT = { span: 10_000, count: 20 };

/** The appointments that changed just now: others are writing their events at this moment, and meet with this Bot. */
async function readRecent(medplum: MedplumClient): Promise<string[]> {
  const since = new Date(Date.now() - RECENT.span).toISOString();
  const query = `Appointment?_lastUpdated=ge${since}&_sort=-_lastUpdated&_count=${RECENT.count}&_fields=id`;
  const [found] = await readInTransaction(medplum, [query]);
  return ofType('Appointment', found).flatMap(({ id }) => id ?? []);
}

/**
 * Records all missing events of appointments, for every Subscription. The events are derived from the histories of the
 * appointments, not from the version that started the Bot, so that any number of Bots may run, repeatedly and concurrently.
 * After a conflict a Bot also records the events that the others are recording, so that the first one finishes for all.
 *
 * @param ids - of the appointments
 * @throws Error when the server does not answer, or conflicts with other Bots persist
 */
export async function recordEvents(medplum: MedplumClient, ids: readonly string[]): Promise<void> {
  const end = Date.now() + LIMIT;
  const askRights = rightsOf(medplum);
  let wanted = ids;
  while (wanted.length > 0) {
    const start = Date.now();
    if (await attempt(medplum, wanted, askRights)) {
      return;
    }
    if (Date.now() > end) {
      throw new Error('Other runs recorded events at each attempt; the Bot retry-deliveries records the rest.');
    }
    await backOff(Date.now() - start);
    wanted = [...new Set([...ids, ...(await readRecent(medplum))])];
  }
}
