import { setTimeout as wait } from 'node:timers/promises';
import type { MedplumClient } from '@medplum/core';
import {
  abandoned,
  delivered,
  ended,
  failed,
  handshakeSucceeded,
  isHeartbeatDue,
  released,
} from '../../../../core/notifications/delivery/delivery-state.ts';
import {
  type EventContent,
  notification,
  type StatusReport,
  type StatusType,
} from '../../../../core/notifications/events/bundle.ts';
import { deliveredEvent } from '../../../../core/notifications/events/event.ts';
import { readableQuery } from '../../../../core/notifications/events/read-access.ts';
import { topicUrl } from '../../../../core/notifications/subscription/topics.ts';
import { config } from '../../config.ts';
import { newId } from '../../new-id.ts';
import { readContents, readEvents, type StoredEvent } from '../event-store.ts';
import { type Claim, changeOutbox, changeStatus, claimOutbox, type Decide, giveUp, record } from './claim.ts';
import { postNotification } from './rest-hook.ts';
import { sendWebsocketMessage } from './websocket-message.ts';

/** After this time, in milliseconds, a delivery starts nothing new; the next one continues. */
const SLICE = 5_000;

/** An attempt that fails within this time, in milliseconds, is repeated after the same time. */
const SOON = 1_000;

/** How many events are read ahead. */
const AHEAD = 20;

/** Sends a notification; returns what went wrong, if anything. */
async function send({ medplum, stored, settings }: Claim, type: StatusType, contents: readonly EventContent[] = []) {
  const { subscription, outbox } = stored;
  const report: StatusReport = {
    id: subscription.id,
    status: subscription.status ?? 'active',
    topic: topicUrl(settings.topic, config),
    type,
    events: contents[0]?.event.number ?? outbox.events,
  };
  const context = { baseUrl: config.baseUrl, now: Date.now(), newId };
  const bundle = notification(report, contents, settings.content, context);
  const sent = settings.endpoint
    ? postNotification(settings.endpoint, settings, subscription.channel.header, bundle)
    : sendWebsocketMessage(medplum, stored, bundle);
  return sent.catch((error: unknown) => `The notification could not be sent (${String(error)}).`);
}

async function shakeHands(claim: Claim): Promise<Claim | undefined> {
  const problem = await send(claim, 'handshake');
  return record(claim, (stored) =>
    problem
      ? giveUp(`Handshake: ${problem}`)(stored)
      : changeStatus(stored.subscription, handshakeSucceeded(stored.outbox, Date.now()), 'active'),
  );
}

/** Records that an attempt has failed, and ends the delivery. */
async function postpone(claim: Claim, problem: string): Promise<undefined> {
  await record(claim, ({ subscription, outbox }) => {
    const next = failed(outbox, problem, Date.now(), config.notifications);
    return next.status === 'failed' ? changeStatus(subscription, next, 'error', problem) : { outbox: next };
  });
  return undefined;
}

/** Sends an event; if the first attempt fails at once, tries again soon, because most failures are brief. */
async function sendEvent(claim: Claim, content: EventContent): Promise<string | undefined> {
  const start = Date.now();
  const problem = await send(claim, 'event-notification', [content]);
  const isWorthAnother = claim.stored.outbox.attempts === 0 && Date.now() - start < SOON;
  if (!problem || !isWorthAnother) {
    return problem;
  }
  await wait(SOON);
  return send(claim, 'event-notification', [content]);
}

async function deliverEvent(
  claim: Claim,
  { resource }: StoredEvent,
  content: EventContent,
): Promise<Claim | undefined> {
  const problem = await sendEvent(claim, content);
  if (problem) {
    return postpone(claim, problem);
  }
  const { number } = content.event;
  const completed = deliveredEvent(resource, Date.now());
  return record(claim, ({ outbox }) => ({
    outbox: delivered(outbox, number, Date.now()),
    entries: [{ request: { method: 'PUT', url: `Communication/${resource.id}` }, resource: completed }],
  }));
}

/** Delivers the next events, one after the other, as long as there is time. */
async function deliverEvents(claim: Claim, isTime: () => boolean): Promise<Claim | undefined> {
  const { medplum, stored } = claim;
  const { delivered: last, events, readable } = stored.outbox;
  const found = await readEvents(medplum, stored.subscription.id, last + 1, Math.min(events, last + AHEAD));
  if (found[0]?.event.number !== last + 1) {
    return postpone(claim, `Event ${last + 1} is missing.`);
  }
  const ids = [...new Set(found.map(({ event }) => event.appointment))];
  const searches = readable.map((criteria) => readableQuery(criteria, ids));
  const contents = await readContents(
    medplum,
    found.map(({ event }) => event),
    searches,
    readable,
  );
  let current: Claim | undefined = claim;
  for (const [index, content] of contents.entries()) {
    const event = found[index];
    const isNext = event && current?.stored.outbox.delivered === content.event.number - 1;
    if (!current || !isNext || !isTime() || current.stored.subscription.status !== 'active') {
      return current;
    }
    current = await deliverEvent(current, event, content);
  }
  return current;
}

async function sendHeartbeat(claim: Claim): Promise<Claim | undefined> {
  const problem = await send(claim, 'heartbeat');
  return problem
    ? postpone(claim, problem)
    : record(
        claim,
        changeOutbox((outbox) => handshakeSucceeded(outbox, Date.now())),
      );
}

/** What to write if the Subscription is over or in error; `undefined` if it is neither. */
function endOf({ stored: { subscription }, settings }: Claim): Decide | undefined {
  if (subscription.status === 'off' || (settings.end !== undefined && settings.end <= Date.now())) {
    return (one) => changeStatus(one.subscription, ended(one.outbox), 'off');
  }
  return subscription.status === 'error'
    ? changeOutbox((one) => abandoned(one, subscription.error ?? 'The Subscription is in error.'))
    : undefined;
}

/** One step of a delivery; `undefined` ends it. */
async function step(claim: Claim, isTime: () => boolean): Promise<Claim | undefined> {
  const { stored, settings } = claim;
  const { subscription, outbox } = stored;
  const end = endOf(claim);
  if (end) {
    await record(claim, end);
    return undefined;
  }
  if (subscription.status !== 'active') {
    return shakeHands(claim);
  }
  if (outbox.delivered < outbox.events && isTime()) {
    return deliverEvents(claim, isTime);
  }
  if (isHeartbeatDue(outbox, settings.heartbeat, Date.now()) && isTime()) {
    return sendHeartbeat(claim);
  }
  await record(claim, changeOutbox(released));
  return undefined;
}

/**
 * Sends a subscriber what is due: the handshake, the waiting events in the order of their numbers, or a heartbeat. Only one
 * delivery of a Subscription runs at a time: it claims the outbox for a limited time; if it dies, another one takes over.
 * Events that were sent but not yet recorded as sent are sent again, with the same number.
 *
 * @param subscriptionId - id of the Subscription
 * @throws Error when Medplum does not answer; the Bot retry-deliveries starts another delivery
 */
export async function deliverPending(medplum: MedplumClient, subscriptionId: string): Promise<void> {
  const start = Date.now();
  const isTime = (): boolean => Date.now() - start < SLICE;
  let claim = await claimOutbox(medplum, subscriptionId);
  while (claim) {
    claim = await step(claim, isTime);
  }
}
