import type { MedplumClient } from '@medplum/core';
import type { Appointment, Communication } from '@medplum/fhirtypes';
import { withNewEvents } from '../../../core/notifications/delivery/delivery-state.ts';
import { type Change, changesOf, newEvents } from '../../../core/notifications/events/appointment-events.ts';
import { type Event, eventOf, eventResource } from '../../../core/notifications/events/event.ts';
import { readableQuery } from '../../../core/notifications/events/read-access.ts';
import { mapConcurrently } from '../concurrency.ts';
import { config } from '../config.ts';
import { backOff } from '../medplum.ts';
import { ofType, readInBatch, readInTransaction } from '../read.ts';
import { readOpenOutboxes, type SubscriptionOutbox, writeOutbox } from './outbox-store.ts';

/** How long new attempts are made when others are faster, in milliseconds: the Bot has ten seconds. */
const PATIENCE = 7_000;

/** The newest versions of an appointment that are looked at. */
const VERSIONS = 200;

/** How many outboxes one Bot writes at once: the server has others to serve. */
const AT_ONCE = 4;

/** The most resources that one search gives. */
const MOST = 1000;

/** How many appointments are announced together: the events of one Subscription about them fit into one search. */
export const BATCH_SIZE = MOST / VERSIONS;

/** Everything that decides about events. */
interface State {
  readonly mailboxes: readonly SubscriptionOutbox[];
  readonly changes: readonly Change[];
  readonly events: readonly Communication[];
}

/**
 * The outboxes are read first: what others announce meanwhile then makes the writing fail. They and the events are read
 * in transactions, which a server with a read replica answers from its primary database. Histories may come from the
 * replica: one that lacks the current version is not relied on.
 *
 * @throws Error when a history lags behind
 */
async function readState(medplum: MedplumClient, ids: readonly string[]): Promise<State> {
  const mailboxes = await readOpenOutboxes(medplum);
  if (mailboxes.length === 0) {
    return { mailboxes, changes: [], events: [] };
  }
  const about = ids.map((id) => `Appointment/${id}`);
  const [events, current] = await readInTransaction(medplum, [
    `Communication?based-on=${about.join(',')}&_count=${MOST}`,
    `Appointment?_id=${ids.join(',')}&_count=${MOST}`,
  ]);
  const histories = await readInBatch(
    medplum,
    about.map((reference) => `${reference}/_history?_count=${VERSIONS}`),
  );
  const versions = histories.map((resources): Appointment[] => ofType('Appointment', resources));
  const seen = new Set(versions.flat().map(({ meta }) => meta?.versionId));
  if (ofType('Appointment', current).some(({ meta }) => !seen.has(meta?.versionId))) {
    throw new Error(
      'The histories lag behind the appointments (a read replica?); the next sweep announces what is left.',
    );
  }
  const found = ofType('Communication', events);
  return {
    mailboxes,
    changes: versions.flatMap((one) => changesOf(one, config)).sort(byTime),
    events: found.length < MOST ? found : await readEventsOfEach(medplum, mailboxes, about),
  };
}

/** The same events Subscription by Subscription, where they are too many for one search. */
async function readEventsOfEach(
  medplum: MedplumClient,
  mailboxes: readonly SubscriptionOutbox[],
  about: readonly string[],
): Promise<Communication[]> {
  const search = ({ subscription }: SubscriptionOutbox): string =>
    `Communication?part-of=Subscription/${subscription.id}&based-on=${about.join(',')}&_count=${MOST}`;
  const found = await readInTransaction(medplum, mailboxes.map(search));
  return found.flatMap((resources) => ofType('Communication', resources));
}

function byTime({ current: a }: Change, { current: b }: Change): number {
  return Date.parse(a.meta?.lastUpdated ?? '') - Date.parse(b.meta?.lastUpdated ?? '');
}

/** The versions that a Subscription has events about already. */
function knownVersions({ events }: State, subscriptionId: string): ReadonlySet<string> {
  const own = events.filter(({ partOf }) => partOf?.[0]?.reference === `Subscription/${subscriptionId}`);
  return new Set(own.flatMap((event) => eventOf(event, config)?.version ?? []));
}

function missingEvents(state: State, mailbox: SubscriptionOutbox, isReadable: (change: Change) => boolean): Event[] {
  const { subscription, settings, owner, outbox } = mailbox;
  const isListening = settings && subscription.status !== 'off';
  if (!isListening) {
    return [];
  }
  const known = knownVersions(state, subscription.id);
  const subscriber = { owner, settings, since: outbox.since };
  return newEvents(state.changes.filter(isReadable), subscriber, known, outbox.events, config);
}

/** Whether the appointments that a subscriber may read are among them. */
type MayRead = (mailbox: SubscriptionOutbox, appointment: string) => boolean;

/** Asks which appointments meet which criteria, each of them once. */
type AskRights = (mailboxes: readonly SubscriptionOutbox[], ids: readonly string[]) => Promise<MayRead>;

function rightsOf(medplum: MedplumClient): AskRights {
  const known = new Map<string, boolean>();
  const key = (criteria: string, id: string): string => `${id} ${criteria}`;
  return async (mailboxes, ids) => {
    const all = [...new Set(mailboxes.flatMap(({ outbox }) => outbox.readable))];
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

async function writeEvents(
  medplum: MedplumClient,
  mailbox: SubscriptionOutbox,
  events: readonly Event[],
): Promise<boolean> {
  const written = await writeOutbox(medplum, mailbox, {
    outbox: withNewEvents(mailbox.outbox, events.length),
    entries: events.map((event) => ({
      request: { method: 'POST', url: 'Communication' },
      resource: eventResource(event, mailbox.subscription.id, config),
    })),
  });
  return written !== 'overtaken';
}

/** One attempt: whether nothing is left to be written down. */
async function attempt(medplum: MedplumClient, ids: readonly string[], askRights: AskRights): Promise<boolean> {
  const state = await readState(medplum, ids);
  const concerned = state.mailboxes.filter((mailbox) => missingEvents(state, mailbox, () => true).length > 0);
  if (concerned.length === 0) {
    return true;
  }
  const mayRead = await askRights(concerned, ids);
  const planned = concerned.map((mailbox) => ({
    mailbox,
    events: missingEvents(state, mailbox, ({ current }) => mayRead(mailbox, current.id ?? '')),
  }));
  const needed = planned.filter(({ events }) => events.length > 0);
  const written = await mapConcurrently(needed, AT_ONCE, ({ mailbox, events }) =>
    writeEvents(medplum, mailbox, events),
  );
  return written.every((isWritten) => isWritten);
}

/** How far back changes count as simultaneous, in milliseconds, and how many of them are announced together. */
const RECENT = { span: 10_000, count: 20 };

/** The appointments that changed just now: others are announcing them at this moment, and meet with this Bot. */
async function readRecent(medplum: MedplumClient): Promise<string[]> {
  const since = new Date(Date.now() - RECENT.span).toISOString();
  const query = `Appointment?_lastUpdated=ge${since}&_sort=-_lastUpdated&_count=${RECENT.count}&_fields=id`;
  const [found] = await readInTransaction(medplum, [query]);
  return ofType('Appointment', found).flatMap(({ id }) => id ?? []);
}

/**
 * Writes down the events about appointments that are not written down yet, for every Subscription, whichever versions
 * of the appointments they are about: the history is what counts, not the version that gave rise to it. It can be done
 * any number of times, by any number of Bots at once. A Bot that was overtaken takes on what the others are announcing,
 * too: then the one that is first does it for all, instead of each waiting for its turn.
 *
 * @param ids - of the appointments
 * @throws Error when the server does not answer, or others were faster for too long
 */
export async function recordEvents(medplum: MedplumClient, ids: readonly string[]): Promise<void> {
  const end = Date.now() + PATIENCE;
  const askRights = rightsOf(medplum);
  let wanted = ids;
  while (wanted.length > 0) {
    const start = Date.now();
    if (await attempt(medplum, wanted, askRights)) {
      return;
    }
    if (Date.now() > end) {
      throw new Error('Others were writing events all the time; the next sweep writes what is left.');
    }
    await backOff(Date.now() - start);
    wanted = [...new Set([...ids, ...(await readRecent(medplum))])];
  }
}
