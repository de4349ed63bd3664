import { type Delivery, type Queue, readCronAge, readDeliveries, readJobs } from '../metrics/read.ts';
import { type Check, check, type DoctorResult, error, type Installation, ok, warning } from './check.ts';

/** Waiting time after which a queue counts as stalled, in seconds. */
const STALLED_AFTER = 10 * 60;

const total = (deliveries: readonly Delivery[]): number =>
  deliveries.reduce((sum, { events, delivered }) => sum + events - delivered, 0);

const first = ([one]: readonly Delivery[]): string => `Subscription/${one?.id}${one?.error ? `: ${one.error}` : ''}`;

/**
 * Assesses the deliveries of the Subscriptions. A delivery without progress is an error of the service. An endpoint
 * that does not respond is an error of the subscriber.
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

/** An accepted booking is carried out at once, or within minutes after a crash. */
export function assessWaiting({ count, oldest }: Queue): DoctorResult {
  return oldest > STALLED_AFTER
    ? error(
        `${count} accepted bookings wait, the oldest for ${Math.round(oldest / 60)} minutes`,
        'Check the Subscription task-requested, the log of the Bot process-booking, and that the server runs its workers.',
      )
    : ok(count === 0 ? 'none waits' : `${count} in progress`);
}

/**
 * Whether Medplum starts scheduled Bots. Their timetable is in Redis. If Redis was lost, they do not run until they are
 * registered again.
 *
 * @param age - seconds since the last run; `undefined`: there was none
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

const readNow =
  <T>(read: (medplum: Installation['medplum'], config: Installation['config'], now: number) => Promise<T>) =>
  ({ medplum, config }: Installation): Promise<T> =>
    read(medplum, config, Date.now());

export const queueChecks: readonly Check[] = [
  check('clock', readNow(readCronAge), assessCron),
  check('accepted bookings', readNow(readJobs), assessWaiting),
  check('notifications', readNow(readDeliveries), assessDeliveries),
];
