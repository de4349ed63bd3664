import type { Subscription } from '@medplum/fhirtypes';
import type { NotificationSettings } from '../../config/config.ts';
import { dueAt, type Outbox, type Outboxes } from './outbox.ts';

/** The duration of a delivery's claim to the outboxes of its subscriber, in milliseconds. */
export const LEASE = 30_000;

/** The number of Subscriptions of one subscriber that are delivered concurrently. */
export const SHARE = 4;

/** The time after which a delivery that has not begun is requested again, in milliseconds. */
export const OVERDUE = 10_000;

const MAX_WAIT = 8 * 60 * 60_000;

/** The wait before the next attempt, in milliseconds: doubling, up to 8 hours. */
export function waitAfter(attempts: number, { retryAfter }: Pick<NotificationSettings, 'retryAfter'>): number {
  return Math.min(retryAfter * 1000 * 2 ** (attempts - 1), MAX_WAIT);
}

/** Adds new events to an outbox. They are due unless the Subscription must wait. */
export function withNewEvents(outbox: Outbox, count: number): Outbox {
  const status = outbox.status === 'accepted' ? 'ready' : outbox.status;
  return { ...outbox, status, events: outbox.events + count };
}

/** Whether a delivery may claim the outboxes of a subscriber. A lease far in the future comes from a wrong clock. */
export const isFree = ({ lease }: Outboxes, now: number): boolean =>
  lease === undefined || lease.until <= now || lease.until > now + 2 * LEASE;

/** The outboxes of a subscriber, claimed by a delivery for the next period. */
export const claimed = (outboxes: Outboxes, lease: string, now: number): Outboxes => ({
  ...outboxes,
  lease: { id: lease, until: now + LEASE },
});

export const released = (outboxes: Outboxes): Outboxes => ({ ...outboxes, lease: undefined });

/** An outbox after a notification: an event, or a handshake or heartbeat, which leaves the number unchanged. */
export function sent(outbox: Outbox, number: number, now: number): Outbox {
  const status = number < outbox.events ? 'ready' : 'accepted';
  return { ...outbox, status, delivered: number, attempts: 0, error: undefined, until: undefined, sent: now };
}

/** An outbox after a failed attempt. After the last attempt, the Subscription is in error. */
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

/** The largest length of an error in an outbox: a row contains the errors of many Subscriptions. */
const MAX_ERROR_LENGTH = 300;

export const abandoned = (outbox: Outbox, error: string): Outbox => ({
  ...outbox,
  until: undefined,
  status: 'failed',
  error: error.slice(0, MAX_ERROR_LENGTH),
});

/**
 * The outbox of a Subscription that is requested again: it starts with a handshake. Changes while it was off are no
 * events.
 */
export function restarted(outbox: Outbox, now: number): Outbox {
  const since = outbox.status === 'cancelled' ? now : outbox.since;
  return { ...outbox, until: undefined, status: 'ready', attempts: 0, since };
}

export const ended = (outbox: Outbox): Outbox => ({ ...outbox, until: undefined, status: 'cancelled' });

/** A Subscription with another status, and without an earlier error. */
export function withStatus<T extends Subscription>(subscription: T, status: Subscription['status'], error?: string): T {
  const { error: _, ...rest } = subscription;
  return { ...(rest as T), status, ...(error && { error }) };
}

interface Followed {
  readonly outbox: Outbox;
  readonly subscription?: Subscription;
}

/**
 * Adapts an outbox to a status that an administrator, for example, has set; `undefined` if nothing changes. `off` and
 * `error` end it. `requested`, or `active` after an end, starts it with a handshake.
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

type DeliveryRequest =
  /** The Subscription is off: only its subscriber can start it again. */
  | { readonly kind: 'ended' }
  /** Nothing waits, or a delivery has begun or is about to. */
  | { readonly kind: 'unchanged' }
  /** Waiting notifications are sent now; the number of attempts starts again at 0. */
  | { readonly kind: 'started'; readonly outbox: Outbox }
  /** The Subscription was in error. It is requested again and starts with a handshake. */
  | { readonly kind: 'requested'; readonly outbox: Outbox };

/** The effect of a request to deliver now; `status` is that of the Subscription. A delivery in progress goes on. */
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

export function isDue(outbox: Outbox, now: number): boolean {
  const due = dueAt(outbox);
  return due !== undefined && due <= now;
}

/**
 * Whether a delivery must be started: something is due, or has waited since the row's last write (`changed`), or the
 * last delivery has crashed.
 */
export function mustStart(outboxes: Outboxes, changed: number, now: number): boolean {
  const all = [...outboxes.of.values()];
  const isWaiting = all.some(({ status }) => status === 'ready');
  return outboxes.lease
    ? isFree(outboxes, now)
    : (isWaiting && changed + OVERDUE <= now) || all.some((outbox) => isDue(outbox, now));
}

/** Outboxes with a new moment of waking, so that Medplum starts a Bot. Due ones become `ready`, the lease ends. */
export function woken(outboxes: Outboxes, now: number): Outboxes {
  const of = [...outboxes.of].map(([id, outbox]): [string, Outbox] => [
    id,
    isDue(outbox, now) ? { ...outbox, status: 'ready' } : outbox,
  ]);
  return { ...released(outboxes), of: new Map(of), woken: now };
}

export function isHeartbeatDue({ sent: last, heartbeat }: Outbox, now: number): boolean {
  return heartbeat !== undefined && last !== undefined && now - last >= heartbeat * 1000;
}
