import { setTimeout as wait } from 'node:timers/promises';
import type { MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry } from '@medplum/fhirtypes';
import { couldRead, readableQuery } from '../../../../core/booking/policy/caller-rights.ts';
import { withNewEvents } from '../../../../core/notifications/delivery/delivery-state.ts';
import type { Change } from '../../../../core/notifications/events/appointment-events.ts';
import { tagTokens } from '../../../../core/notifications/events/concern.ts';
import { type Event, eventKey, eventResource } from '../../../../core/notifications/events/event.ts';
import { mapConcurrently } from '../../concurrency.ts';
import { config } from '../../config.ts';
import { backOff } from '../../medplum.ts';
import { ofType, readInTransaction } from '../../read.ts';
import { type OutboxRow, type SubscriptionOutbox, writeOutboxes } from '../outbox-store.ts';
import { type EventState, knownEvents, missingEvents, readEventState } from './event-state.ts';

type MayRead = (stored: SubscriptionOutbox, appointment: string) => boolean;

/** Asks which appointments the subscribers may read; criteria that several subscribers share are searched once. */
type AskRights = (outboxes: readonly SubscriptionOutbox[], ids: readonly string[]) => Promise<MayRead>;

/** Returns a function that asks Medplum which appointments meet which criteria, and caches the results. */
export function rightsOf(medplum: MedplumClient): AskRights {
  const known = new Map<string, boolean>();
  const key = (criteria: string, id: string): string => `${id} ${criteria}`;
  return async (outboxes, ids) => {
    const all = [...new Set(outboxes.flatMap(({ row }) => row.outboxes.readable))];
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
    return ({ row }, id) => row.outboxes.readable.some((one) => known.get(key(one, id)) === true);
  };
}

/** Whether a subscriber may be notified of a change. Medplum can no longer be asked about deleted appointments. */
export function mayBeNotified(
  state: EventState,
  stored: SubscriptionOutbox,
  { current }: Change,
  mayRead: MayRead,
): boolean {
  const { id = '' } = current;
  if (!state.gone.has(id)) {
    return mayRead(stored, id);
  }
  const wasNotified = knownEvents(state, stored.subscription.id).some(({ appointment }) => appointment === id);
  return couldRead(stored.row.outboxes.readable, current, wasNotified);
}

/** How long new attempts are made when other runs are faster, in milliseconds: the Bot has ten seconds. */
const LIMIT = 7_000;

/** Number of subscribers for whom one Bot writes at the same time: the server has others to serve. */
const CONCURRENCY = 4;

/**
 * The most that one transaction records of a subscriber: after an outage, many events may be missing. `numbers` are those
 * that the events have in all of its Subscriptions.
 */
const MAX = { events: 500, numbers: 2_000 };

type Changed = Pick<Appointment, 'id' | 'meta'>;

/** Which Subscriptions are considered: all, or those that the tags of the appointments concern. */
type Among = 'all' | 'concerned';

/** The result of an attempt: everything is recorded, some is left for later, or other runs were faster. */
type Attempt = 'complete' | 'left' | 'overtaken';

interface Needed {
  readonly stored: SubscriptionOutbox;
  readonly events: readonly Event[];
}

/** The entries that create events: one for each change, with its number in each Subscription. */
function eventEntries(needed: readonly Needed[]): BundleEntry[] {
  const changes = new Map<string, { event: Event; numbers: Map<string, number> }>();
  for (const { stored, events } of needed) {
    for (const event of events) {
      const key = `${event.appointment} ${eventKey(event)}`;
      const change = changes.get(key) ?? { event, numbers: new Map() };
      change.numbers.set(stored.subscription.id, event.number);
      changes.set(key, change);
    }
  }
  return [...changes.values()].map(({ event, numbers }) => ({
    request: { method: 'POST', url: 'Communication' },
    resource: eventResource(event, numbers, config),
  }));
}

/** Records the events of one subscriber in one transaction: at most MAX in total, an equal share per Subscription. */
async function writeEvents(medplum: MedplumClient, needed: readonly Needed[]): Promise<Attempt> {
  const share = Math.min(MAX.events, Math.max(1, Math.floor(MAX.numbers / needed.length)));
  const chunk = needed.map(({ stored, events }) => ({ stored, events: events.slice(0, share) }));
  const updates = chunk.map(({ stored, events }) => ({ stored, outbox: withNewEvents(stored.outbox, events.length) }));
  const [first] = needed;
  const written = first && (await writeOutboxes(medplum, first.stored.row, updates, { entries: eventEntries(chunk) }));
  if (written === 'overtaken') {
    return 'overtaken';
  }
  return needed.some(({ events }) => events.length > share) ? 'left' : 'complete';
}

/** Reads, decides and writes once, for all subscribers: `overtaken` or `left` if that holds for any of them. */
async function recordOnce(
  medplum: MedplumClient,
  ids: readonly string[],
  tags: ReadonlySet<string> | 'any',
  askRights: AskRights,
): Promise<Attempt> {
  const state = await readEventState(medplum, ids, tags);
  const concerned = state.outboxes.filter((stored) => missingEvents(state, stored, () => true).length > 0);
  const mayRead = await askRights(concerned, ids);
  const bySubscriber = new Map<OutboxRow, Needed[]>();
  for (const stored of concerned) {
    const events = missingEvents(state, stored, (change) => mayBeNotified(state, stored, change, mayRead));
    if (events.length > 0) {
      bySubscriber.set(stored.row, [...(bySubscriber.get(stored.row) ?? []), { stored, events }]);
    }
  }
  const written = await mapConcurrently([...bySubscriber.values()], CONCURRENCY, (needed) =>
    writeEvents(medplum, needed),
  );
  return written.find((one) => one === 'overtaken') ?? written.find((one) => one === 'left') ?? 'complete';
}

/** How far back changes count as simultaneous, in milliseconds, and how many of them are read at most. */
const RECENT = { span: 10_000, count: 20 };

/**
 * The appointments that have just changed: other Bots may be writing their events, and conflict with this one.
 */
async function readRecent(medplum: MedplumClient): Promise<Appointment[]> {
  const since = new Date(Date.now() - RECENT.span).toISOString();
  const query = `Appointment?_lastUpdated=ge${since}&_sort=-_lastUpdated&_count=${RECENT.count}&_fields=id,meta`;
  const [found] = await readInTransaction(medplum, [query]);
  return ofType('Appointment', found);
}

/**
 * Records the missing events of appointments: one event for each change and subscriber, with the numbers that it has in
 * its Subscriptions. The events are derived from the histories of the appointments, not from the version that started the
 * Bot, so that any number of Bots may run, repeatedly and concurrently. After a conflict a Bot also records the events
 * that the others are recording, so that the first one finishes for all.
 * @param appointments - with the tags that they have now
 * @param among - `concerned` suffices for appointments that still exist: the criteria of a subscriber that may read one
 *   ask for a tag that it has. Subscribers that were notified of one under another tag are notified of its deletion,
 *   too.
 * @param isTime - whether there is time for more, if one transaction has no room for all events of a subscriber
 * @returns whether nothing is left
 * @throws Error when the server does not answer, or conflicts with other Bots persist
 */
export async function recordEvents(
  medplum: MedplumClient,
  appointments: readonly Changed[],
  among: Among = 'concerned',
  isTime: () => boolean = () => false,
): Promise<boolean> {
  const end = Date.now() + LIMIT;
  const askRights = rightsOf(medplum);
  let wanted = appointments;
  for (;;) {
    const start = Date.now();
    const ids = [...new Set(wanted.flatMap(({ id }) => id ?? []))];
    const tags = among === 'concerned' ? tagTokens(wanted.map(({ meta }) => meta)) : 'any';
    const result = ids.length === 0 ? 'complete' : await recordOnce(medplum, ids, tags, askRights);
    if (result === 'complete' || (result === 'left' && !isTime())) {
      return result === 'complete';
    }
    if (result === 'overtaken' && Date.now() > end) {
      throw new Error('Other runs recorded events at each attempt; the Bot retry-deliveries records the rest.');
    }
    await (result === 'left' ? wait(Date.now() - start) : backOff(Date.now() - start));
    wanted = result === 'left' ? appointments : [...appointments, ...(await readRecent(medplum))];
  }
}
