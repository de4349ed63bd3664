import { beforeAll, expect, it } from '@jest/globals';
import type { Installation } from '../../lib/installation.ts';
import { eventually, until } from '../../lib/until.ts';
import { prepareInstallation } from '../installation.ts';

/** More than the deliveries of one subscriber at once. */
const COUNT = 25;

const LIMIT = 90_000;

let installation: Installation;
let http: typeof import('../../contract/http.ts');
let fixtures: typeof import('../../contract/notifications/fixtures.ts');
let listening: typeof import('../../contract/notifications/listener.ts');

beforeAll(async () => {
  installation = await prepareInstallation(
    { SANDBOX_DELAY_SCALE: '0.02' },
    { notifications: { maxSubscriptions: COUNT + 1 } },
  );
  [http, fixtures, listening] = await Promise.all([
    import('../../contract/http.ts'),
    import('../../contract/notifications/fixtures.ts'),
    import('../../contract/notifications/listener.ts'),
  ]);
  await installation.start();
});

type Listener = Awaited<ReturnType<typeof listening.listen>>;

/** The numbers of the events that each Subscription has got, in the order of their arrival. */
function numbersOfEach(listener: Listener): Map<string, number[]> {
  const numbers = new Map<string, number[]>();
  for (const { bundle } of listening.ofKind(listener, 'event-notification')) {
    const id = listening.parameterIn(bundle, 'subscription')?.valueReference?.reference ?? '';
    numbers.set(id, [...(numbers.get(id) ?? []), ...listening.numbersIn(bundle)]);
  }
  return numbers;
}

const uniquely = (numbers: readonly number[]): number[] => [...new Set(numbers)];

const events = async (): Promise<number> =>
  http.resourceIn('Bundle', await http.medplum('admin', 'GET', '/Communication?_summary=count')).total ?? 0;

it('a subscriber with many Subscriptions: some are told at once, all in the end, also after a kill, without a gap', async () => {
  const [listener, other] = [await listening.listen(), await listening.listen()];
  await fixtures.subscribed(other, {}, 'portal-b');
  for (let count = 0; count < COUNT; count++) {
    await fixtures.subscribed(listener);
  }
  const appointment = await fixtures.aBooking();
  listener.reply = () => undefined;
  await fixtures.confirm(appointment);
  await until(events, (count) => count >= 1);
  await installation.kill();
  listener.reply = 200;
  await installation.start();
  await fixtures.staffChange(appointment, { comment: 'second' });
  await fixtures.cancel(appointment);

  const numbers = await eventually(async () => [...numbersOfEach(listener).values()].map(uniquely), LIMIT).is(
    (all) => all.length === COUNT && all.every(({ length }) => length === 3),
  );
  expect(numbers).toEqual(Array.from({ length: COUNT }, () => [1, 2, 3]));
  expect(await events()).toBe(3);
  expect(listening.numbersAt(other)).toEqual([]);
  await Promise.all([listener.close(), other.close()]);
});

it('all receivers of a subscriber fail at first: each is tried again, and gets its event', async () => {
  const listener = await listening.listen();
  const ids: (string | undefined)[] = [];
  for (let count = 0; count < COUNT; count++) {
    ids.push((await fixtures.subscribed(listener, {}, 'portal-b')).id);
  }
  const appointment = await fixtures.aBooking('manual', 'portal-b');
  listener.reply = 503;
  await fixtures.confirm(appointment);
  await listening.events(listener, 4, LIMIT);
  listener.reply = 200;
  listener.received.length = 0;
  await eventually(async () => numbersOfEach(listener).size, LIMIT).is((count) => count === COUNT);
  await Promise.all(ids.map((id) => fixtures.outboxTurnsTo('accepted', id)));
  await listener.close();
});
