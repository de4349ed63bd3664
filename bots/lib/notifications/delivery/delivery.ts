import { setTimeout as wait } from 'node:timers/promises';
import type { MedplumClient } from '@medplum/core';
import type { Bundle } from '@medplum/fhirtypes';
import { readableQuery } from '../../../../core/booking/policy/caller-rights.ts';
import {
  ended,
  failed,
  followed,
  isHeartbeatDue,
  SHARE,
  sent,
} from '../../../../core/notifications/delivery/delivery-state.ts';
import { messageQuery, messageResource } from '../../../../core/notifications/delivery/message.ts';
import {
  type EventContent,
  notification,
  type StatusReport,
  type StatusType,
} from '../../../../core/notifications/events/bundle.ts';
import { type Event, eventKey } from '../../../../core/notifications/events/event.ts';
import { isRedirected } from '../../../../core/notifications/subscription/channel.ts';
import { topicUrl } from '../../../../core/notifications/subscription/topics.ts';
import { config } from '../../config.ts';
import { newId, sendBundle } from '../../medplum.ts';
import { ofType, readInTransaction } from '../../read.ts';
import { type EventNumber, readContents, readEvents } from '../event-store.ts';
import type { SubscriptionOutbox } from '../outbox-store.ts';
import { type Claim, changeOutbox, changeStatus, claimOutboxes, type Decide, giveUp, isWaiting } from './claim.ts';
import { postNotification } from './rest-hook.ts';

/**
 * Passes a notification to the websockets that are bound to a Subscription: Medplum sends them the message that is written
 * here. Subscribers without a bound websocket use `$events`.
 * @param owner - id of the profile that owns the Subscription
 * @returns the problem, or `undefined`
 */
export async function sendWebsocketMessage(
  medplum: MedplumClient,
  subscriptionId: string,
  owner: string,
  bundle: Bundle,
): Promise<string | undefined> {
  const [found] = await readInTransaction(medplum, [messageQuery(subscriptionId, config)]);
  const [stored] = ofType('Communication', found);
  const request = stored
    ? ({ method: 'PUT', url: `Communication/${stored.id}` } as const)
    : ({ method: 'POST', url: 'Communication' } as const);
  const resource = messageResource(bundle, subscriptionId, owner, config, stored);
  const written = await sendBundle(medplum, { resourceType: 'Bundle', type: 'batch', entry: [{ request, resource }] });
  const status = written.kind === 'done' ? written.bundle.entry?.[0]?.response?.status : undefined;
  return status?.startsWith('2') ? undefined : `The message could not be written (${status ?? written.kind}).`;
}

/** After this time, in milliseconds, a delivery starts nothing new; the next one continues. */
const MAX_DURATION = 60_000;

/** An attempt that fails within this time, in milliseconds, is repeated after the same time. */
const SOON = 1_000;

/** While an endpoint does not answer, new events are looked for at this interval, in milliseconds. */
const LOOK = 500;

/** Limits for reading ahead: events of one Subscription, events in total, versions. */
const AHEAD = { each: 20, all: 100, versions: 20 };

/** Sends a notification; returns what went wrong, if anything. */
async function sendNotification(
  { medplum }: Claim,
  stored: SubscriptionOutbox,
  type: StatusType,
  contents: readonly EventContent[] = [],
): Promise<string | undefined> {
  const { subscription, settings, outbox, row } = stored;
  if (!settings) {
    return NOT_SUPPORTED;
  }
  const report: StatusReport = {
    id: subscription.id,
    status: subscription.status ?? 'active',
    topic: topicUrl(settings.topic, config),
    type,
    events: contents[0]?.event.number ?? outbox.events,
  };
  const context = { baseUrl: config.baseUrl, now: Date.now(), newId };
  const bundle = notification(report, contents, settings.content, context);
  const posted = settings.endpoint
    ? postNotification(settings.endpoint, settings, subscription.channel.header, bundle)
    : sendWebsocketMessage(medplum, subscription.id, row.outboxes.subscriber, bundle);
  return posted.catch((error: unknown) => `The notification could not be sent (${String(error)}).`);
}

const NOT_SUPPORTED = 'The Subscription asks for something that the service does not support.';

/** Sends an event; if the first attempt fails at once, tries again soon, because most failures are brief. */
async function sendEvent(claim: Claim, stored: SubscriptionOutbox, content: EventContent): Promise<string | undefined> {
  const start = Date.now();
  const problem = await sendNotification(claim, stored, 'event-notification', [content]);
  const isWorthAnother = stored.outbox.attempts === 0 && Date.now() - start < SOON;
  if (!problem || !isWorthAnother) {
    return problem;
  }
  await wait(SOON);
  return sendNotification(claim, stored, 'event-notification', [content]);
}

/** The update after a failed attempt; after the last one, the Subscription gets the status `error`. */
const postpone =
  (problem: string): Decide =>
  (stored) => {
    const next = failed(stored.outbox, problem, Date.now(), config.notifications);
    return next.status === 'failed' ? changeStatus(() => next, 'error', problem)(stored) : { outbox: next };
  };

/** The update after an attempt; without a problem, events up to `number` count as delivered. */
const afterSending = (problem: string | undefined, number: (outbox: SubscriptionOutbox['outbox']) => number): Decide =>
  problem ? postpone(problem) : changeOutbox((outbox) => sent(outbox, number(outbox), Date.now()));

/** The contents of the next events by their numbers; `missing` if an event no longer exists. */
type Contents = ReadonlyMap<string, ReadonlyMap<number, EventContent | 'missing'>>;

/** The numbers of the next events, a share of each active Subscription; the longest not notified comes first. */
function nextNumbers(waiting: readonly SubscriptionOutbox[]): EventNumber[] {
  const behind = waiting
    .filter(({ subscription, outbox }) => subscription.status === 'active' && outbox.delivered < outbox.events)
    .sort((outbox, other) => (outbox.outbox.sent ?? 0) - (other.outbox.sent ?? 0))
    .slice(0, AHEAD.all);
  const each = Math.min(AHEAD.each, Math.floor(AHEAD.all / Math.max(1, behind.length)));
  return behind.flatMap(({ subscription, outbox: { delivered, events } }) =>
    Array.from(
      { length: Math.min(each, events - delivered) },
      (_, index): EventNumber => [subscription.id, delivered + index + 1],
    ),
  );
}

/** Identifies a change of an appointment across Subscriptions. */
const keyOf = (event: Event): string => `${event.appointment} ${eventKey(event)}`;

/** Reads the next events, each version of an appointment once. Events beyond the limit are left out, not `missing`. */
async function readNext({ medplum }: Claim, waiting: readonly SubscriptionOutbox[]): Promise<Contents> {
  const wanted = nextNumbers(waiting);
  const found = await readEvents(medplum, wanted);
  const inTurn = [...found.values()]
    .flatMap((events) => events.map((event, index) => ({ event, index })))
    .sort((one, other) => one.index - other.index);
  const unique = new Map(inTurn.map(({ event }) => [keyOf(event), event]));
  const events = [...unique.values()].slice(0, AHEAD.versions);
  const readable = waiting[0]?.row.outboxes.readable ?? [];
  const ids = [...new Set(events.map(({ appointment }) => appointment))];
  const searches = readable.map((criteria) => readableQuery(criteria, ids));
  const read = await readContents(medplum, events, searches, readable);
  const known = new Map(read.map(({ event, appointment }) => [keyOf(event), { appointment }]));
  const contents = new Map<string, Map<number, EventContent | 'missing'>>();
  for (const [id, number] of wanted) {
    const event = found.get(id)?.find((one) => one.number === number);
    const content = event && known.get(keyOf(event));
    const notified = content ? { event, ...content } : 'missing';
    if (content || !event) {
      contents.set(id, (contents.get(id) ?? new Map<number, EventContent | 'missing'>()).set(number, notified));
    }
  }
  return contents;
}

/** The update for a Subscription that is over, not understood, or has a status set by others. */
function endingUpdate({ subscription, settings, outbox }: SubscriptionOutbox): Decide | undefined {
  if (followed(subscription, outbox, Date.now())) {
    return (one) => followed(one.subscription, one.outbox, Date.now()) ?? { outbox: one.outbox };
  }
  if (!settings) {
    return giveUp(NOT_SUPPORTED);
  }
  return settings.end !== undefined && settings.end <= Date.now() ? changeStatus(ended, 'off') : undefined;
}

async function shakeHands(claim: Claim, stored: SubscriptionOutbox): Promise<Decide> {
  const problem = await sendNotification(claim, stored, 'handshake');
  return problem
    ? giveUp(`Handshake: ${problem}`)
    : changeStatus((outbox) => sent(outbox, outbox.delivered, Date.now()), 'active');
}

/** Takes the next step for a Subscription, and returns its update; `undefined` if its events must be read first. */
async function takeStep(claim: Claim, stored: SubscriptionOutbox, contents: Contents): Promise<Decide | undefined> {
  const { subscription, outbox } = stored;
  const end = endingUpdate(stored);
  if (end) {
    return end;
  }
  if (subscription.status !== 'active') {
    return shakeHands(claim, stored);
  }
  const next = outbox.delivered + 1;
  if (next <= outbox.events) {
    const content = contents.get(subscription.id)?.get(next);
    // An event that was deleted is skipped.
    return content === 'missing'
      ? afterSending(undefined, () => next)
      : content && afterSending(await sendEvent(claim, stored, content), () => next);
  }
  return isHeartbeatDue(outbox, Date.now())
    ? afterSending(await sendNotification(claim, stored, 'heartbeat'), ({ delivered }) => delivered)
    : changeOutbox((one) => ({ ...one, status: one.delivered < one.events ? 'ready' : 'accepted' }));
}

/** Drops an update if the endpoint or the headers have changed: the attempt says nothing about the new ones. */
const unlessRedirected =
  ({ subscription }: SubscriptionOutbox, decide: Decide): Decide =>
  (stored) =>
    isRedirected(subscription, stored.subscription) ? { outbox: stored.outbox } : decide(stored);

/** Takes steps for a Subscription while it waits, its next event has been read, and time is left. */
async function serveSubscription(claim: Claim, id: string, contents: Contents, isTime: () => boolean): Promise<void> {
  let stored = claim.current(id);
  while (stored && isWaiting(stored) && isTime()) {
    const decide = await takeStep(claim, stored, contents);
    if (!decide) {
      return;
    }
    claim.note(id, unlessRedirected(stored, decide));
    stored = claim.current(id);
  }
}

/** A worker: serves Subscriptions of a shared queue one after the other. A slow endpoint holds up one worker only. */
async function serveQueue(
  claim: Claim,
  queue: Iterable<SubscriptionOutbox>,
  contents: Contents,
  isTime: () => boolean,
  taken: Set<string>,
): Promise<void> {
  for (const { subscription } of queue) {
    await serveSubscription(claim, subscription.id, contents, isTime);
    taken.delete(subscription.id);
  }
}

/**
 * Sends a subscriber what is due: handshakes, the waiting events in the order of their numbers, heartbeats. Only one
 * delivery of a subscriber runs at a time: it claims the outboxes for a limited time; if it dies, another one takes over.
 * Events that were sent but not yet recorded as sent are sent again, with the same number.
 * @param subscriber - id of the profile
 * @throws Error when Medplum does not answer; the Bot retry-deliveries starts another delivery
 */
export async function deliverPending(medplum: MedplumClient, subscriber: string): Promise<void> {
  const claim = await claimOutboxes(medplum, subscriber);
  if (!claim) {
    return;
  }
  const end = Date.now() + MAX_DURATION;
  let isOver = false;
  const isTime = (): boolean => !isOver && Date.now() < end && !claim.isLost();
  const taken = new Set<string>();
  const workers = new Set<Promise<void>>();
  const startWorker = (queue: Iterable<SubscriptionOutbox>, contents: Contents): void => {
    const worker = serveQueue(claim, queue, contents, isTime, taken).finally(() => workers.delete(worker));
    workers.add(worker);
  };
  const ready = (): SubscriptionOutbox[] =>
    claim.subscriptions().filter((outbox) => isWaiting(outbox) && !taken.has(outbox.subscription.id));
  try {
    for (let waiting = ready(); isTime() && (waiting.length > 0 || workers.size > 0); waiting = ready()) {
      if (waiting.length > 0 && workers.size < SHARE) {
        const contents = await readNext(claim, waiting);
        const queue = waiting.values();
        for (const { subscription } of waiting) {
          taken.add(subscription.id);
        }
        while (workers.size < SHARE) {
          startWorker(queue, contents);
        }
      }
      const looked = wait(LOOK).then(() => (workers.size > 0 && ready().length === 0 ? claim.refresh() : undefined));
      await Promise.race([...workers, looked]);
    }
  } finally {
    isOver = true;
    await Promise.all(workers);
    await claim.release();
  }
}
