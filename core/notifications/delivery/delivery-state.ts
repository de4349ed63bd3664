import type { Subscription } from '@medplum/fhirtypes';
import type { NotificationSettings } from '../../config/config.ts';
import { type DeliveryTimes, dueAt, type Outbox, type OutboxStatus } from './outbox.ts';

/** The longest duration of a delivery, in milliseconds. */
export const LEASE = 30_000;

/** The maximum number of concurrent deliveries per subscriber, so that slow endpoints delay only their own subscriber. */
export const SHARE = 4;

/** If a requested delivery has not begun after this time, in milliseconds, it is requested again. */
export const OVERDUE = 10_000;

const LONGEST_WAIT = 8 * 60 * 60_000;

/** How long to wait for the next attempt, in milliseconds: doubling, up to 8 hours. */
export function waitAfter(attempts: number, { retryAfter }: Pick<NotificationSettings, 'retryAfter'>): number {
  return Math.min(retryAfter * 1000 * 2 ** (attempts - 1), LONGEST_WAIT);
}

const idle = { until: undefined, lease: undefined } as const;

/**
 * New events were recorded: starts a delivery, unless one is running or must wait.
 *
 * @param start - `received` if other deliveries of the subscriber are being started that will go on with this one
 */
export function withNewEvents(outbox: Outbox, count: number, start: 'ready' | 'received' = 'ready'): Outbox {
  const status = outbox.status === 'accepted' ? start : outbox.status;
  return { ...outbox, status, events: outbox.events + count };
}

/** Whether something is to be sent that no delivery has begun to send. */
const isWaiting = (status: OutboxStatus): boolean => status === 'ready' || status === 'received';

/** Whether a delivery may take the outbox now. */
export function isFree({ status, until = 0 }: Outbox, now: number): boolean {
  return isWaiting(status) || ((status === 'in-progress' || status === 'on-hold') && until <= now);
}

/** A delivery takes the outbox. */
export function claimed(outbox: Outbox, lease: string, now: number): Outbox {
  return { ...outbox, status: 'in-progress', lease, until: now + LEASE };
}

/** The next event was delivered; the delivery goes on. */
export function delivered(outbox: Outbox, number: number, now: number): Outbox {
  return { ...outbox, delivered: number, attempts: 0, error: undefined, sent: now, until: now + LEASE };
}

/** Something other than an event was delivered: a handshake or a heartbeat. */
export function handshakeSucceeded(outbox: Outbox, now: number): Outbox {
  return { ...outbox, attempts: 0, error: undefined, sent: now, until: now + LEASE };
}

/** The delivery releases the outbox, done or not. */
export function released(outbox: Outbox): Outbox {
  return { ...outbox, ...idle, status: outbox.delivered < outbox.events ? 'ready' : 'accepted' };
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
    : { ...outbox, ...idle, status: 'on-hold', attempts, error, until: now + waitAfter(attempts, settings) };
}

/** The Subscription is in error. */
export function abandoned(outbox: Outbox, error: string): Outbox {
  return { ...outbox, ...idle, status: 'failed', error };
}

/** The Subscription is requested again: the handshake is sent. Changes made while it was over are not events. */
export function restarted(outbox: Outbox, now: number): Outbox {
  const since = outbox.status === 'cancelled' ? now : outbox.since;
  return { ...outbox, ...idle, status: 'ready', attempts: 0, since };
}

/** The effect of asking for a delivery at once. */
export type DeliveryRequest =
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
  const isUnderWay = isWaiting(outbox.status) || (outbox.status === 'in-progress' && !isFree(outbox, now));
  const isDone = status === 'active' && outbox.status === 'accepted' && outbox.delivered >= outbox.events;
  return isUnderWay || isDone ? { kind: 'unchanged' } : { kind: 'started', outbox: restarted(outbox, now) };
}

/** Starts a delivery for something that the outbox does not record. */
export function woken(outbox: Outbox, now: number): Outbox {
  return { ...outbox, ...idle, status: 'ready', woken: now };
}

/** A due outbox that is not waiting yet is left to the deliveries of the same subscriber. */
export function queued(outbox: Outbox): Outbox {
  return { ...outbox, ...idle, status: 'received' };
}

/** Which of the due outboxes start a delivery, and which only have to be queued. */
export interface Turns<T> {
  readonly started: readonly T[];
  readonly queued: readonly T[];
}

/**
 * Shares out the due outboxes: for each subscriber, as many start a delivery as its share allows. These deliveries go on
 * with the others by themselves; outboxes that are not marked as waiting yet are queued for that.
 */
export function turnsOf<T extends { readonly owner: string; readonly outbox: Outbox }>(due: readonly T[]): Turns<T> {
  const counts = new Map<string, number>();
  const turns = { started: [] as T[], queued: [] as T[] };
  for (const one of due) {
    const count = counts.get(one.owner) ?? 0;
    counts.set(one.owner, count + 1);
    if (count < SHARE) {
      turns.started.push(one);
    } else if (!isWaiting(one.outbox.status) && one.outbox.status !== 'on-hold') {
      turns.queued.push(one);
    }
  }
  return turns;
}

/** The Subscription is over. */
export function ended(outbox: Outbox): Outbox {
  return { ...outbox, ...idle, status: 'cancelled' };
}

/**
 * Whether a heartbeat is due.
 *
 * @param period - seconds between notifications; `undefined`: none are wanted
 */
export function isHeartbeatDue({ sent }: Outbox, period: number | undefined, now: number): boolean {
  return period !== undefined && sent !== undefined && now - sent >= period * 1000;
}

/**
 * Whether an outbox must be woken: its wait is over, its delivery has died or was never started, a heartbeat is due, or
 * its Subscription is over.
 *
 * @param times - of its Subscription
 * @param changed - when the outbox was last written
 */
export function isDue(outbox: Outbox, times: DeliveryTimes, changed: number, now: number): boolean {
  const due = isWaiting(outbox.status) ? changed + OVERDUE : dueAt(outbox, times);
  return due !== undefined && due <= now;
}
