import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { MedplumClient } from '@medplum/core';
import type { Subscription } from '@medplum/fhirtypes';
import {
  abandoned,
  claimed,
  delivered,
  ended,
  failed,
  handshakeSucceeded,
  isFree,
  isHeartbeatDue,
  released,
} from '../../../core/notifications/delivery/delivery-state.ts';
import type { Outbox } from '../../../core/notifications/delivery/outbox.ts';
import {
  type EventContent,
  notification,
  type StatusReport,
  type StatusType,
} from '../../../core/notifications/events/bundle.ts';
import { deliveredEvent } from '../../../core/notifications/events/event.ts';
import { readableQuery } from '../../../core/notifications/events/read-access.ts';
import type { SubscriptionParameters } from '../../../core/notifications/subscription/subscription-parameters.ts';
import { topicUrl } from '../../../core/notifications/subscription/topics.ts';
import { config } from '../config.ts';
import { newId } from '../new-id.ts';
import { readContents, readEvents, type StoredEvent } from './event-store.ts';
import { type OutboxUpdate, readOutbox, type SubscriptionOutbox, writeOutbox } from './outbox-store.ts';
import { postNotification } from './rest-hook.ts';
import { sendWebsocketMessage } from './websocket-message.ts';

/** After so many milliseconds a delivery begins nothing new; what is left is the next job's. */
const SLICE = 5_000;

/** Milliseconds: what fails faster is tried again after as long. */
const SOON = 1_000;

/** How many events are read ahead. */
const AHEAD = 20;

/** How often a write is tried anew when events are announced meanwhile. */
const ATTEMPTS = 50;

/** A mailbox that this delivery holds. */
interface Held {
  readonly medplum: MedplumClient;
  readonly lease: string;
  readonly mailbox: SubscriptionOutbox;
  readonly settings: SubscriptionParameters;
}

/** What is to be written next, worked out anew whenever the mailbox had changed meanwhile; nothing if it is not due. */
type Decide = (mailbox: SubscriptionOutbox) => OutboxUpdate | undefined;

/** Writes a mailbox; `undefined` if it is not to be written (any more). */
async function write(medplum: MedplumClient, mailbox: SubscriptionOutbox | undefined, decide: Decide) {
  let current = mailbox;
  for (let attempt = 1; current && attempt <= ATTEMPTS; attempt++) {
    const update = decide(current);
    const written = update && (await writeOutbox(medplum, current, update));
    if (written !== 'overtaken') {
      return written;
    }
    await wait(Math.random() * 10);
    current = await readOutbox(medplum, current.subscription.id);
  }
  return undefined;
}

/** Writes the mailbox as long as this delivery holds it; whoever has taken it over goes on with it. */
async function record({ medplum, lease, mailbox, settings }: Held, decide: Decide): Promise<Held | undefined> {
  const written = await write(medplum, mailbox, (one) => (one.outbox.lease === lease ? decide(one) : undefined));
  return written && { medplum, lease, mailbox: written, settings: written.settings ?? settings };
}

const to =
  (change: (outbox: Outbox) => Outbox): Decide =>
  ({ outbox }) => ({ outbox: change(outbox) });

/** The mailbox with the Subscription in a new status. */
function turned(
  subscription: Subscription,
  outbox: Outbox,
  status: NonNullable<Subscription['status']>,
  error?: string,
): OutboxUpdate {
  const { error: _, ...rest } = subscription;
  return { outbox, subscription: { ...rest, status, ...(error && { error }) } };
}

const giveUp =
  (error: string): Decide =>
  ({ subscription, outbox }) =>
    turned(subscription, abandoned(outbox, error), 'error', error);

function send({ medplum, mailbox, settings }: Held, type: StatusType, contents: readonly EventContent[] = []) {
  const { subscription, outbox } = mailbox;
  const report: StatusReport = {
    id: subscription.id,
    status: subscription.status ?? 'active',
    topic: topicUrl(settings.topic, config),
    type,
    events: contents[0]?.event.number ?? outbox.events,
  };
  const context = { baseUrl: config.baseUrl, now: Date.now(), newId };
  const bundle = notification(report, contents, settings.content, context);
  return settings.endpoint
    ? postNotification(settings.endpoint, settings, subscription.channel.header, bundle)
    : sendWebsocketMessage(medplum, mailbox, bundle);
}

async function shakeHands(held: Held): Promise<Held | undefined> {
  const problem = await send(held, 'handshake');
  return record(held, (mailbox) =>
    problem
      ? giveUp(`Handshake: ${problem}`)(mailbox)
      : turned(mailbox.subscription, handshakeSucceeded(mailbox.outbox, Date.now()), 'active'),
  );
}

/** An attempt has failed: it is recorded, and this delivery is over. */
async function postpone(held: Held, problem: string): Promise<undefined> {
  await record(held, ({ subscription, outbox }) => {
    const next = failed(outbox, problem, Date.now(), config.notifications);
    return next.status === 'failed' ? turned(subscription, next, 'error', problem) : { outbox: next };
  });
  return undefined;
}

/** Sends an event; when a first attempt fails at once, a second follows soon: most failures are over by then. */
async function sendEvent(held: Held, content: EventContent): Promise<string | undefined> {
  const start = Date.now();
  const problem = await send(held, 'event-notification', [content]);
  const isWorthAnother = held.mailbox.outbox.attempts === 0 && Date.now() - start < SOON;
  if (!problem || !isWorthAnother) {
    return problem;
  }
  await wait(SOON);
  return send(held, 'event-notification', [content]);
}

async function deliverEvent(held: Held, { resource }: StoredEvent, content: EventContent): Promise<Held | undefined> {
  const problem = await sendEvent(held, content);
  if (problem) {
    return postpone(held, problem);
  }
  const { number } = content.event;
  const completed = deliveredEvent(resource, Date.now());
  return record(held, ({ outbox }) => ({
    outbox: delivered(outbox, number, Date.now()),
    entries: [{ request: { method: 'PUT', url: `Communication/${resource.id}` }, resource: completed }],
  }));
}

/** Delivers the next events, one after the other, as long as there is time. */
async function deliverEvents(held: Held, isTime: () => boolean): Promise<Held | undefined> {
  const { medplum, mailbox } = held;
  const { delivered: last, events, readable } = mailbox.outbox;
  const stored = await readEvents(medplum, mailbox.subscription.id, last + 1, Math.min(events, last + AHEAD));
  if (stored[0]?.event.number !== last + 1) {
    return postpone(held, `Event ${last + 1} is missing.`);
  }
  const ids = [...new Set(stored.map(({ event }) => event.appointment))];
  const searches = readable.map((criteria) => readableQuery(criteria, ids));
  const contents = await readContents(
    medplum,
    stored.map(({ event }) => event),
    searches,
  );
  let current: Held | undefined = held;
  for (const [index, content] of contents.entries()) {
    const event = stored[index];
    const isNext = event && current?.mailbox.outbox.delivered === content.event.number - 1;
    if (!current || !isNext || !isTime() || current.mailbox.subscription.status !== 'active') {
      return current;
    }
    current = await deliverEvent(current, event, content);
  }
  return current;
}

async function beat(held: Held): Promise<Held | undefined> {
  const problem = await send(held, 'heartbeat');
  return problem
    ? postpone(held, problem)
    : record(
        held,
        to((outbox) => handshakeSucceeded(outbox, Date.now())),
      );
}

/** One step of a delivery; `undefined` ends it. */
async function step(held: Held, isTime: () => boolean): Promise<Held | undefined> {
  const { mailbox, settings } = held;
  const { subscription, outbox } = mailbox;
  if (subscription.status === 'off' || (settings.end !== undefined && settings.end <= Date.now())) {
    return record(held, (one) => turned(one.subscription, ended(one.outbox), 'off')).then(() => undefined);
  }
  if (subscription.status === 'error') {
    return record(
      held,
      to((one) => abandoned(one, subscription.error ?? 'The Subscription is in error.')),
    ).then(() => undefined);
  }
  if (subscription.status !== 'active') {
    return shakeHands(held);
  }
  if (outbox.delivered < outbox.events && isTime()) {
    return deliverEvents(held, isTime);
  }
  if (isHeartbeatDue(outbox, settings.heartbeat, Date.now()) && isTime()) {
    return beat(held);
  }
  return record(held, to(released)).then(() => undefined);
}

/**
 * Sends a subscriber what is due: the handshake, the events that wait, one after the other in the order of their
 * numbers, or a heartbeat. Only one delivery of a Subscription runs at a time: it takes the outbox for a while, and if
 * it dies, another takes it over then. What was sent and not yet recorded is sent again, under the same number.
 *
 * @param subscriptionId - id of the Subscription
 * @throws Error when Medplum does not answer; the next sweep goes on
 */
export async function deliverPending(medplum: MedplumClient, subscriptionId: string): Promise<void> {
  const lease = randomUUID();
  const start = Date.now();
  const isTime = (): boolean => Date.now() - start < SLICE;
  const mailbox = await write(medplum, await readOutbox(medplum, subscriptionId), ({ outbox }) =>
    isFree(outbox, Date.now()) ? { outbox: claimed(outbox, lease, Date.now()) } : undefined,
  );
  if (!mailbox) {
    return;
  }
  if (!mailbox.settings) {
    await write(medplum, mailbox, giveUp('The Subscription asks for something that the service does not have.'));
    return;
  }
  let held: Held | undefined = { medplum, lease, mailbox, settings: mailbox.settings };
  while (held) {
    held = await step(held, isTime);
  }
}
