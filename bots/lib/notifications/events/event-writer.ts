import { setTimeout as wait } from 'node:timers/promises';
import type { MedplumClient } from '@medplum/core';
import type { Appointment } from '@medplum/fhirtypes';
import { SHARE, withNewEvents } from '../../../../core/notifications/delivery/delivery-state.ts';
import { tagTokens } from '../../../../core/notifications/events/concern.ts';
import { type Event, eventResource } from '../../../../core/notifications/events/event.ts';
import { mapConcurrently } from '../../concurrency.ts';
import { config } from '../../config.ts';
import { backOff } from '../../medplum.ts';
import { ofType, readInTransaction } from '../../read.ts';
import { type PlannedUpdate, type SubscriptionOutbox, writeOutboxes } from '../outbox-store.ts';
import { type AskRights, mayBeTold, rightsOf } from './event-rights.ts';
import { missingEvents, readEventState } from './event-state.ts';

/** How long new attempts are made when other runs are faster, in milliseconds: the Bot has ten seconds. */
const LIMIT = 7_000;

/** How many transactions one Bot sends at once: the server has others to serve. */
const AT_ONCE = 4;

/**
 * For how many Subscriptions of one subscriber events are recorded in one transaction, and for how many immediately when
 * an appointment changes. The Bot retry-deliveries goes on with the rest, so that the Subscriptions of one subscriber,
 * however many, do not keep the server from serving others.
 */
const TOGETHER = 10;

/** The most events that one transaction records: after an outage, many events of one appointment may be missing. */
const MOST_EVENTS = 500;

/** An appointment that was changed. */
type Changed = Pick<Appointment, 'id' | 'meta'>;

/** Which Subscriptions are considered: all, or those that the tags of the appointments concern. */
type Among = 'all' | 'concerned';

/** How many transactions are sent, how many of them at once, and with what pauses. */
interface Pace {
  /** The most transactions per subscriber. */
  readonly transactions: number;
  /** Pauses, if at all, and then says whether to go on. */
  readonly next: (took: number) => Promise<boolean>;
  readonly atOnce: number;
}

/** The result of an attempt: everything is recorded, some is left for later, or other runs were faster. */
type Attempt = 'complete' | 'left' | 'overtaken';

interface Needed {
  readonly stored: SubscriptionOutbox;
  readonly events: readonly Event[];
}

/** The events of some Subscriptions of one subscriber; as many of them start a delivery as its share allows. */
function planned(needed: readonly Needed[], isFirst: boolean): PlannedUpdate[] {
  const starts = isFirst ? SHARE : 1;
  const most = Math.floor(MOST_EVENTS / needed.length);
  const together = needed.map(({ stored, events }) => ({ stored, events: events.slice(0, most) }));
  return together.map(({ stored, events }, index) => ({
    stored,
    update: {
      outbox: withNewEvents(stored.outbox, events.length, index < starts ? 'ready' : 'received'),
      entries: events.map((event) => ({
        request: { method: 'POST', url: 'Communication' },
        resource: eventResource(event, stored.subscription.id, config),
      })),
    },
  }));
}

/** Divides events into transactions, each for one subscriber; subscribers with few Subscriptions come first. */
function transactionsOf(needed: readonly Needed[], most: number): { now: PlannedUpdate[][]; isAll: boolean } {
  const isAll = needed.every(({ events }) => events.length <= MOST_EVENTS / TOGETHER);
  const bySubscriber = new Map<string, Needed[]>();
  for (const one of needed) {
    bySubscriber.set(one.stored.owner, [...(bySubscriber.get(one.stored.owner) ?? []), one]);
  }
  const all = [...bySubscriber.values()]
    .sort((one, other) => one.length - other.length)
    .map((own) => Array.from({ length: Math.ceil(own.length / TOGETHER) }, (_, index) => partOf(own, index)));
  return { now: all.flatMap((own) => own.slice(0, most)), isAll: isAll && all.every(({ length }) => length <= most) };
}

const partOf = (own: readonly Needed[], index: number): PlannedUpdate[] =>
  planned(own.slice(index * TOGETHER, (index + 1) * TOGETHER), index === 0);

/** Carries out transactions as long as the pace allows. */
async function write(medplum: MedplumClient, transactions: readonly PlannedUpdate[][], pace: Pace): Promise<Attempt> {
  let attempt: Attempt = 'complete';
  for (let index = 0; index < transactions.length; index += pace.atOnce) {
    const start = Date.now();
    const some = transactions.slice(index, index + pace.atOnce);
    const written = await mapConcurrently(some, pace.atOnce, (one) => writeOutboxes(medplum, one));
    attempt = written.every((isWritten) => isWritten) ? attempt : 'overtaken';
    const isMore = index + pace.atOnce < transactions.length;
    if (isMore && !(await pace.next(Date.now() - start))) {
      return 'left';
    }
  }
  return attempt;
}

async function attempt(
  medplum: MedplumClient,
  ids: readonly string[],
  tags: ReadonlySet<string> | 'any',
  askRights: AskRights,
  pace: Pace,
): Promise<Attempt> {
  const state = await readEventState(medplum, ids, tags);
  const concerned = state.outboxes.filter((stored) => missingEvents(state, stored, () => true).length > 0);
  const mayRead = await askRights(concerned, ids);
  const needed = concerned
    .map((stored) => ({
      stored,
      events: missingEvents(state, stored, (change) => mayBeTold(state, stored, change, mayRead)),
    }))
    .filter(({ events }) => events.length > 0);
  const { now, isAll } = transactionsOf(needed, pace.transactions);
  const written = await write(medplum, now, pace);
  return written === 'complete' && !isAll ? 'left' : written;
}

/** How far back changes count as simultaneous, in milliseconds, and how many of them are read at most. */
const RECENT = { span: 10_000, count: 20 };

/**
 * The appointments that changed just now: other Bots are writing their events at this moment, and collide with this one.
 */
async function readRecent(medplum: MedplumClient): Promise<Appointment[]> {
  const since = new Date(Date.now() - RECENT.span).toISOString();
  const query = `Appointment?_lastUpdated=ge${since}&_sort=-_lastUpdated&_count=${RECENT.count}&_fields=id,meta`;
  const [found] = await readInTransaction(medplum, [query]);
  return ofType('Appointment', found);
}

async function record(
  medplum: MedplumClient,
  appointments: readonly Changed[],
  among: Among,
  pace: Pace,
): Promise<boolean> {
  const end = Date.now() + LIMIT;
  const askRights = rightsOf(medplum);
  let wanted = appointments;
  for (;;) {
    const start = Date.now();
    const ids = [...new Set(wanted.flatMap(({ id }) => id ?? []))];
    const tags = among === 'concerned' ? tagTokens(wanted.map(({ meta }) => meta)) : 'any';
    const result = ids.length === 0 ? 'complete' : await attempt(medplum, ids, tags, askRights, pace);
    if (result !== 'overtaken') {
      return result === 'complete';
    }
    if (Date.now() > end) {
      throw new Error('Other runs recorded events at each attempt; the Bot retry-deliveries records the rest.');
    }
    await backOff(Date.now() - start);
    wanted = [...appointments, ...(await readRecent(medplum))];
  }
}

/**
 * Records the missing events of appointments that were just changed, for the Subscriptions that they concern: for all
 * Subscriptions of most subscribers, and for the first ten of a subscriber that has more. The events are derived from the
 * histories of the appointments, not from the version that started the Bot, so that any number of Bots may run,
 * repeatedly and concurrently. After a conflict a Bot also records the events that the others are recording, so that the
 * first one finishes for all.
 *
 * @param appointments - with the tags that they have now
 * @returns whether nothing is left to `recordRemainingEvents`
 * @throws Error when the server does not answer, or conflicts with other Bots persist
 */
export const recordEvents = (medplum: MedplumClient, appointments: readonly Changed[]): Promise<boolean> =>
  record(medplum, appointments, 'concerned', { transactions: 1, next: async () => true, atOnce: AT_ONCE });

/**
 * Records all missing events of appointments, one transaction after the other; after each it rests for as long as that
 * one took.
 *
 * @param among - `concerned` suffices for appointments that still exist: the criteria of a subscriber that may read one
 *   ask for a tag that it has. Subscribers that were told of a deleted one under another tag are told of its deletion,
 *   too.
 * @param isTime - whether there is time for another transaction
 * @returns whether nothing is left
 * @throws Error as `recordEvents`
 */
export async function recordRemainingEvents(
  medplum: MedplumClient,
  appointments: readonly Changed[],
  among: Among,
  isTime: () => boolean,
): Promise<boolean> {
  const next = async (took: number): Promise<boolean> => {
    await wait(took);
    return isTime();
  };
  const pace = { transactions: Number.POSITIVE_INFINITY, next, atOnce: 1 };
  for (;;) {
    const isComplete = await record(medplum, appointments, among, pace);
    if (isComplete || !isTime()) {
      return isComplete;
    }
  }
}
