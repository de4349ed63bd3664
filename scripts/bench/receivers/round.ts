import { resourceIn, send, wait } from '../http.ts';
import { appointmentFor, makePlaces, type Place } from '../targets.ts';
import { changeByStaff, type Target } from './subscriptions.ts';

/** Durations in milliseconds, of each kind. */
export interface Round {
  /** `$book`. */
  readonly booking: readonly number[];
  /** From `$book` with `respond-async` to the result. */
  readonly job: readonly number[];
  /** From a change by staff to the arrival of the notification. */
  readonly notification: readonly number[];
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await act();
  return performance.now() - start;
}

async function book({ installation: { base, tokens }, config }: Target, place: Place): Promise<string> {
  const answer = await send('POST', `${base}/Appointment/$book`, tokens.portal, appointmentFor(place, config));
  return `Appointment/${resourceIn('Appointment', answer).id}`;
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

async function notify({ installation, receivers }: Target, path: string): Promise<number> {
  const { count } = receivers.quick();
  const start = performance.now();
  await changeByStaff(installation, path);
  await wait(() => receivers.quick().count > count, 'for a notification');
  return receivers.quick().at - start;
}

/** Measures so many of each kind, one after another. */
export async function measureRound(target: Target, count: number): Promise<Round> {
  const places = await makePlaces(target.installation, target.config, 2 * count, Date.now());
  const round = { booking: [] as number[], job: [] as number[], notification: [] as number[] };
  for (let index = 0; index < count; index++) {
    const [now, later] = [places[2 * index], places[2 * index + 1]];
    if (now && later) {
      let path = '';
      round.booking.push(
        await timed(async () => {
          path = await book(target, now);
        }),
      );
      round.job.push(await timed(() => bookLater(target, later)));
      round.notification.push(await notify(target, path));
    }
  }
  return round;
}
