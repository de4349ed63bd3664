import type { Command } from 'commander';
import { wholeNumber } from '../cli/whole-number.ts';
import { send, wait } from './http.ts';
import { type Bench, measures } from './machine.ts';
import { inRounds, quantile, timed } from './measure.ts';
import { changeByStaff, startReceivers, subscribe, subscribeQuick, type Target, untilNotified } from './subscriber.ts';
import { appointmentFor, bookAs, makePlaces, type Place } from './targets.ts';

interface Arguments {
  readonly receivers: number;
  readonly rounds: number;
  readonly bookings: number;
}

/** Durations in milliseconds, of each kind. */
interface Round {
  /** `$book`. */
  readonly booking: number[];
  /** From `$book` with `respond-async` to the result. */
  readonly job: number[];
  /** From a change by staff to the arrival of the notification. */
  readonly notification: number[];
}

async function bookLater({ installation: { base, tokens }, config }: Target, place: Place): Promise<void> {
  const prefer = { prefer: 'respond-async' };
  const body = appointmentFor(place, config);
  const { location, status } = await send('POST', `${base}/Appointment/$book`, tokens.portal, body, prefer);
  if (status !== 202) {
    throw new Error(`A job was not accepted (${status}).`);
  }
  await wait(async () => (await send('GET', location, tokens.portal)).status === 200, 'for a job');
}

/** Measures so many of each kind, one after another. */
async function measureRound(target: Target, count: number): Promise<Round> {
  const { installation, config } = target;
  const places = await makePlaces(installation, config, 2 * count, Date.now());
  const round: Round = { booking: [], job: [], notification: [] };
  for (let index = 0; index < count; index++) {
    const [now, later] = [places[2 * index], places[2 * index + 1]];
    if (now && later) {
      const [took, { id }] = await timed(() => bookAs(installation, appointmentFor(now, config)));
      round.booking.push(took);
      round.job.push((await timed(() => bookLater(target, later)))[0]);
      round.notification.push(await untilNotified(target, `Appointment/${id}`));
    }
  }
  return round;
}

/**
 * Makes the Subscriptions: one of the measured portal, with the quick receiver, and `count` of another portal.
 *
 * @returns the path of an appointment whose changes concern all Subscriptions of the other portal
 */
async function subscribeAll(target: Target, count: number): Promise<string> {
  const { installation, config, receivers } = target;
  const { tokens } = installation;
  await subscribeQuick(target);
  for (let index = 0; index < count; index++) {
    await subscribe(target, `/hang/${index}`, tokens.other);
  }
  await wait(() => receivers.answered() >= count, 'for all handshakes');
  const as = { ...installation, tokens: { ...tokens, portal: tokens.other } };
  const [place] = await makePlaces(as, config, 1, Date.now());
  if (!place) {
    throw new Error('No slot could be made.');
  }
  return `Appointment/${(await bookAs(as, appointmentFor(place, config))).id}`;
}

/** Measures while the receivers of the other portal have something that they do not answer; then all of them answer. */
async function besideHanging(target: Target, trigger: string, given: Arguments): Promise<Round> {
  const { installation, receivers } = target;
  receivers.hang();
  await changeByStaff(installation, trigger);
  await wait(() => receivers.waiting() > 0, 'for the first receiver');
  const round = await measureRound(target, given.bookings);
  receivers.release();
  await wait(() => receivers.answered() >= given.receivers, 'for all notifications');
  return round;
}

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Measures whether receivers that never answer slow down others. Another portal has many Subscriptions, which in turn ' +
        'have nothing to deliver, or one notification each for receivers that hang. One portal is measured: bookings, ' +
        'asynchronous bookings until their result, changes by staff until the notification. Takes the variables of ' +
        'npm run bench, and PORTAL_B_…; notifications.maxSubscriptions must be large enough.',
    )
    .option('--receivers <number>', 'receivers that hang', wholeNumber(1), 500)
    .option('--rounds <number>', 'rounds of both', wholeNumber(1), 3)
    .option('--bookings <number>', 'of each kind in a round', wholeNumber(1), 20);
  measures(command, run);
}

async function run(given: Arguments, { installation, config, print }: Bench): Promise<void> {
  const receivers = await startReceivers();
  try {
    const target = { installation, config, receivers };
    const trigger = await subscribeAll(target, given.receivers);
    await measureRound(target, 5);
    const measured = await inRounds(['quiet', 'hanging'] as const, given.rounds, (condition) => {
      console.error(`${condition} …`);
      return condition === 'quiet' ? measureRound(target, given.bookings) : besideHanging(target, trigger, given);
    });
    const rows = (['booking', 'job', 'notification'] as const).map((kind) => {
      const [quiet = [], hanging = []] = [...measured.values()].map((rounds) => rounds.flatMap((one) => one[kind]));
      const [alone, beside] = [quantile(quiet, 0.5), quantile(hanging, 0.5)];
      return [kind, alone.toFixed(1), beside.toFixed(1), (beside / alone).toFixed(2), String(hanging.length)];
    });
    const columns = ['p50 in ms', 'quiet', 'hanging', '÷', 'number'];
    print({ what: `${given.rounds} rounds, ${given.receivers} receivers`, columns, rows });
  } finally {
    receivers.close();
  }
}
