import type { Task } from '@medplum/fhirtypes';
import { waitsSince } from '../../core/booking/async/task.ts';
import { type OutboxStatus, outboxesOf } from '../../core/notifications/delivery/outbox.ts';
import { type RowCode, rowCodes } from '../../core/rows/row.ts';
import { searchAll } from '../medplum/project.ts';
import { type Check, check, error, type Installation, ok, type Verdict, warning } from './check.ts';

/** How long something may wait for a Bot before it counts as stalled, in milliseconds. */
const STALLED_AFTER = 10 * 60_000;

/** The events of one Subscription. */
export interface Delivery {
  /** Reference to the Subscription. */
  readonly subscription: string;
  readonly status: OutboxStatus;
  readonly undelivered: number;
  /** Milliseconds since anything was done about it. */
  readonly age: number;
  readonly error?: string | undefined;
}

const total = (deliveries: readonly Delivery[]): number =>
  deliveries.reduce((sum, { undelivered }) => sum + undelivered, 0);

const first = ([one]: readonly Delivery[]): string => `${one?.subscription}${one?.error ? `: ${one.error}` : ''}`;

/**
 * Assesses the state of the Subscriptions: if nothing is working on a delivery, that is the service's fault; if a subscriber
 * does not answer, that is the subscriber's.
 */
export function assessDeliveries(all: readonly Delivery[]): Verdict {
  const open = all.filter(({ status }) => status !== 'cancelled');
  const isIdle = ({ status, age }: Delivery): boolean => status === 'ready' && age > STALLED_AFTER;
  const [idle, failed, waiting] = [
    open.filter(isIdle),
    open.filter(({ status }) => status === 'failed'),
    open.filter(({ status }) => status === 'on-hold'),
  ];
  if (idle.length > 0) {
    return error(
      `${idle.length} deliveries are stuck with ${total(idle)} events (${first(idle)})`,
      'Check the feature cron, and the logs of the Bots deliver-events and retry-deliveries.',
    );
  }
  if (failed.length > 0) {
    return warning(
      `${failed.length} Subscriptions in error, ${total(failed)} events wait (${first(failed)})`,
      'Tell the subscriber to set the Subscription to requested again once its endpoint answers.',
    );
  }
  return waiting.length > 0
    ? warning(
        `${total(waiting)} events wait for subscribers that do not respond (${first(waiting)})`,
        'Deliveries are retried for hours; contact the subscriber if it lasts.',
      )
    : ok(`${open.length} Subscriptions, all events delivered`);
}

const deliveriesOf = (task: Task, now: number): Delivery[] =>
  [...outboxesOf(task).of].map(([id, { status, events, delivered, error: reason }]) => ({
    subscription: `Subscription/${id}`,
    status,
    undelivered: events - delivered,
    age: now - Date.parse(task.meta?.lastUpdated ?? ''),
    error: reason,
  }));

async function tasks({ medplum, config }: Installation, code: RowCode, narrowing = {}): Promise<Task[]> {
  return searchAll(medplum, 'Task', { code: rowCodes([code], config), ...narrowing });
}

async function readDeliveries(installation: Installation): Promise<Delivery[]> {
  const now = Date.now();
  return (await tasks(installation, 'outboxes')).flatMap((task) => deliveriesOf(task, now));
}

/** Bookings that were accepted and are not yet carried out. */
interface Waiting {
  readonly bookings: number;
  /** Milliseconds that the oldest of them has waited. */
  readonly oldest: number;
}

/** An accepted booking is carried out at once, or after a crash within minutes. */
export function assessWaiting({ bookings, oldest }: Waiting): Verdict {
  return oldest > STALLED_AFTER
    ? error(
        `${bookings} accepted bookings wait, the oldest for ${Math.round(oldest / 60_000)} minutes`,
        'Check the Subscription task-requested, the log of the Bot process-booking, and that the server runs its workers.',
      )
    : ok(bookings === 0 ? 'none waits' : `${bookings} in progress`);
}

async function readWaiting(installation: Installation): Promise<Waiting> {
  const now = Date.now();
  const waiting = await tasks(installation, 'book', { status: 'requested' });
  const ages = waiting.map((task) => now - (waitsSince(task) ?? now));
  return { bookings: waiting.length, oldest: Math.max(0, ...ages) };
}

/**
 * Whether Medplum starts the Bots that run by the clock. Its timetable is in Redis: if that was lost, these Bots do not run
 * until they are registered again.
 *
 * @param age - milliseconds since the Bot last ran; undefined: it never did
 */
export function assessClock(age: number | undefined): Verdict {
  const help =
    'Check the feature cron and the log of the Bot retry-deliveries. If Redis was lost: POST admin/super/reloadcron ' +
    '(Prefer: respond-async), as a super administrator.';
  if (age === undefined) {
    return warning('the Bot retry-deliveries has not run yet; it does so every minute', help);
  }
  return age > STALLED_AFTER
    ? error(`the Bot retry-deliveries has not run for ${Math.round(age / 60_000)} minutes`, help)
    : ok('the Bot retry-deliveries runs');
}

async function readClock(installation: Installation): Promise<number | undefined> {
  const [cursor] = await tasks(installation, 'announce');
  return cursor && Date.now() - Date.parse(cursor.meta?.lastUpdated ?? '');
}

/** What waits to be done. */
export const queueChecks: readonly Check[] = [
  check('clock', readClock, assessClock),
  check('accepted bookings', readWaiting, assessWaiting),
  check('notifications', readDeliveries, assessDeliveries),
];
