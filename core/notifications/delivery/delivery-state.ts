import type { Subscription } from '@medplum/fhirtypes';
import type { NotificationSettings } from '../../config/config.ts';
import { dueAt, type Outbox, type Outboxes } from './outbox.ts';

/** For how long a delivery claims the outboxes of its subscriber, in milliseconds. */
export const LEASE = 30_000;

/** To how many Subscriptions of one subscriber something is sent at the same time. */
export const SHARE = 4;

/** If a requested delivery has not begun after this time, in milliseconds, it is requested again. */
export const OVERDUE = 10_000;

const MAX_WAIT = 8 * 60 * 60_000;

/** How long to wait for the next attempt, in milliseconds: doubling, up to 8 hours. */
export function waitAfter(attempts: number, { retryAfter }: Pick<NotificationSettings, 'retryAfter'>): number {
  return Math.min(retryAfter * 1000 * 2 ** (attempts - 1), MAX_WAIT);
}

/** New events were recorded: they are to be sent, unless the Subscription must wait. */
export function withNewEvents(outbox: Outbox, count: number): Outbox {
  const status = outbox.status === 'accepted' ? 'ready' : outbox.status;
  return { ...outbox, status, events: outbox.events + count };
}

/** Whether a delivery may take the outboxes of a subscriber now: the clock of one that has them too long was ahead. */
export const isFree = ({ lease }: Outboxes, now: number): boolean =>
  lease === undefined || lease.until <= now || lease.until > now + 2 * LEASE;

/** A delivery takes the outboxes of a subscriber, or keeps them. */
export const claimed = (outboxes: Outboxes, lease: string, now: number): Outboxes => ({
  ...outboxes,
  lease: { id: lease, until: now + LEASE },
});

/** The delivery has ended. */
export const released = (outboxes: Outboxes): Outboxes => ({ ...outboxes, lease: undefined });

/** Something was sent: an event, or the handshake or a heartbeat, after which the number is what it was. */
export function sent(outbox: Outbox, number: number, now: number): Outbox {
  const status = number < outbox.events ? 'ready' : 'accepted';
  return { ...outbox, status, delivered: number, attempts: 0, error: undefined, until: undefined, sent: now };
}

/**
 * An attempt has failed: there will be another, or, after the last one, the Subscription is in error.
 *
 * @param error - what went wrong, for administrators and the subscriber
 */
export function failed(
  outbox: Outbox,
  error: string,
  now: number,
  settings: Pick<NotificationSettings, 'retryAfter' | 'maxAttempts'>,
): Outbox {
  const attempts = outbox.attempts + 1;
  return attempts >= settings.maxAttempts
    ? abandoned({ ...outbox, attempts }, error)
    : {
        ...outbox,
        status: 'on-hold',
        attempts,
        error: error.slice(0, MAX_ERROR_LENGTH),
        until: now + waitAfter(attempts, settings),
      };
}

/** The most characters that an outbox keeps of what went wrong: a row has those of many Subscriptions. */
const MAX_ERROR_LENGTH = 300;

/** The Subscription is in error. */
export const abandoned = (outbox: Outbox, error: string): Outbox => ({
  ...outbox,
  until: undefined,
  status: 'failed',
  error: error.slice(0, MAX_ERROR_LENGTH),
});

/** The Subscription is requested again: the handshake is sent. Changes made while it was over are not events. */
export function restarted(outbox: Outbox, now: number): Outbox {
  const since = outbox.status === 'cancelled' ? now : outbox.since;
  return { ...outbox, until: undefined, status: 'ready', attempts: 0, since };
}

/** The Subscription is over. */
export const ended = (outbox: Outbox): Outbox => ({ ...outbox, until: undefined, status: 'cancelled' });

/** A Subscription with another status, and without the reason of a former one. */
export function withStatus<T extends Subscription>(subscription: T, status: Subscription['status'], error?: string): T {
  const { error: _, ...rest } = subscription;
  return { ...(rest as T), status, ...(error && { error }) };
}

/** What becomes of an outbox, and of its Subscription if that changes too. */
interface Followed {
  readonly outbox: Outbox;
  readonly subscription?: Subscription;
}

/**
 * What an outbox becomes after somebody else, an administrator for example, has set the status of its Subscription: off
 * and error end it; requested, or active after it was over or given up, begin with a handshake.
 *
 * @param now - milliseconds since 1970 UTC
 * @returns `undefined` if the outbox follows already
 */
export function followed(subscription: Subscription, outbox: Outbox, now: number): Followed | undefined {
  const isGivenUp = outbox.status === 'failed' || outbox.status === 'cancelled';
  switch (subscription.status) {
    case 'off':
      return outbox.status === 'cancelled' ? undefined : { outbox: ended(outbox) };
    case 'error':
      return isGivenUp
        ? undefined
        : { outbox: abandoned(outbox, subscription.error ?? 'The Subscription is in error.') };
    case 'requested':
      return outbox.status === 'ready' ? undefined : { outbox: restarted(outbox, now) };
    default:
      return isGivenUp
        ? { outbox: restarted(outbox, now), subscription: withStatus(subscription, 'requested') }
        : undefined;
  }
}

/** The effect of asking for a delivery at once. */
type DeliveryRequest =
  /** The Subscription is over: only its subscriber can start it anew. */
  | { readonly kind: 'ended' }
  /** Nothing waits, or a delivery has begun or is about to. */
  | { readonly kind: 'unchanged' }
  /** What waits is sent now, and the attempts are counted anew. */
  | { readonly kind: 'started'; readonly outbox: Outbox }
  /** The Subscription was in error: it is requested again, and gets a handshake first. */
  | { readonly kind: 'requested'; readonly outbox: Outbox };

/**
 * Asks for a delivery at once, instead of waiting for the next attempt, or after the Subscription went into error. Asking
 * twice starts one delivery: while a delivery is under way, nothing changes.
 *
 * @param status - of the Subscription
 * @param now - milliseconds since 1970 UTC
 */
export function requestDelivery(status: Subscription['status'], outbox: Outbox, now: number): DeliveryRequest {
  if (status === 'off' || outbox.status === 'cancelled') {
    return { kind: 'ended' };
  }
  if (status === 'error') {
    return { kind: 'requested', outbox: restarted(outbox, now) };
  }
  const isDone = status === 'active' && outbox.status === 'accepted' && outbox.delivered >= outbox.events;
  return outbox.status === 'ready' || isDone
    ? { kind: 'unchanged' }
    : { kind: 'started', outbox: restarted(outbox, now) };
}

/** Whether the clock has something to do about an outbox. */
export function isDue(outbox: Outbox, now: number): boolean {
  const due = dueAt(outbox);
  return due !== undefined && due <= now;
}

/**
 * Whether a delivery must be started: something is due, or waits and has not begun, or the last delivery has died.
 *
 * @param changed - when the row was last written
 */
export function mustStart(outboxes: Outboxes, changed: number, now: number): boolean {
  const all = [...outboxes.of.values()];
  const isWaiting = all.some(({ status }) => status === 'ready');
  return outboxes.lease
    ? isFree(outboxes, now)
    : (isWaiting && changed + OVERDUE <= now) || all.some((outbox) => isDue(outbox, now));
}

/** Starts a delivery of what waits and what is due. */
export function woken(outboxes: Outboxes, now: number): Outboxes {
  const of = [...outboxes.of].map(([id, one]): [string, Outbox] => [
    id,
    isDue(one, now) ? { ...one, status: 'ready' } : one,
  ]);
  return { ...released(outboxes), of: new Map(of), woken: now };
}

/** Whether a heartbeat is due. */
export function isHeartbeatDue({ sent: last, heartbeat }: Outbox, now: number): boolean {
  return heartbeat !== undefined && last !== undefined && now - last >= heartbeat * 1000;
}
