import { type Delivery, type Queue, readCronAge, readDeliveries, readJobs } from '../metrics/read.ts';
import { type Check, check, type DoctorResult, error, type Installation, ok, warning } from './check.ts';

/** How long something may wait for a Bot before it counts as stalled, in seconds. */
const STALLED_AFTER = 10 * 60;

const total = (deliveries: readonly Delivery[]): number =>
  deliveries.reduce((sum, { events, delivered }) => sum + events - delivered, 0);

const first = ([one]: readonly Delivery[]): string => `Subscription/${one?.id}${one?.error ? `: ${one.error}` : ''}`;

/**
 * Assesses the state of the Subscriptions: if nothing is working on a delivery, that is the service's fault; if a subscriber
 * does not answer, that is the subscriber's.
 */
export function assessDeliveries(deliveries: readonly Delivery[]): DoctorResult {
  const open = deliveries.filter(({ status }) => status !== 'cancelled');
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

/** An accepted booking is carried out at once, or after a crash within minutes. */
export function assessWaiting({ count, oldest }: Queue): DoctorResult {
  return oldest > STALLED_AFTER
    ? error(
        `${count} accepted bookings wait, the oldest for ${Math.round(oldest / 60)} minutes`,
        'Check the Subscription task-requested, the log of the Bot process-booking, and that the server runs its workers.',
      )
    : ok(count === 0 ? 'none waits' : `${count} in progress`);
}

/**
 * Whether Medplum starts the Bots that run by the clock. Its timetable is in Redis: if that was lost, these Bots do not run
 * until they are registered again.
 *
 * @param age - seconds since the Bot last ran; undefined: it never did
 */
export function assessCron(age: number | undefined): DoctorResult {
  const help =
    'Check the feature cron and the log of the Bot retry-deliveries. If Redis was lost: POST admin/super/reloadcron ' +
    '(Prefer: respond-async), as a super administrator.';
  if (age === undefined) {
    return warning('the Bot retry-deliveries has not run yet; it does so every minute', help);
  }
  return age > STALLED_AFTER
    ? error(`the Bot retry-deliveries has not run for ${Math.round(age / 60)} minutes`, help)
    : ok('the Bot retry-deliveries runs');
}

/** Reads what waits now. */
const readNow =
  <T>(read: (medplum: Installation['medplum'], config: Installation['config'], now: number) => Promise<T>) =>
  ({ medplum, config }: Installation): Promise<T> =>
    read(medplum, config, Date.now());

/** What waits to be done. */
export const queueChecks: readonly Check[] = [
  check('clock', readNow(readCronAge), assessCron),
  check('accepted bookings', readNow(readJobs), assessWaiting),
  check('notifications', readNow(readDeliveries), assessDeliveries),
];
