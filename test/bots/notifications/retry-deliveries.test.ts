import '../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Appointment, Communication, Practitioner, Subscription, Task } from '@medplum/fhirtypes';
import { handler as restartHandshake } from '../../../bots/notifications/restart-handshake.ts';
import { handler } from '../../../bots/notifications/retry-deliveries.ts';
import { backport } from '../../../core/fhir/backport.ts';
import { LEASE, OVERDUE } from '../../../core/notifications/delivery/delivery-state.ts';
import type { Outbox } from '../../../core/notifications/delivery/outbox.ts';
import {
  checkpointSearch,
  checkpointTask,
  MAX_CHANGED,
  OVERLAP,
} from '../../../core/notifications/delivery/retention.ts';
import { portal } from '../../core/notifications/support.ts';
import { asks, only } from '../booking/fixtures.ts';
import { later, withClock } from '../clock.ts';
import { config } from '../config.ts';
import {
  anAppointment,
  changeSubscription,
  channelTo,
  type Given,
  type Subscribed,
  searchesAnswer,
  stateOf,
  subscribe,
} from '../lib/notifications/outboxes.ts';
import { withMedplum } from '../medplum.ts';

const medplum = withMedplum();
afterEach(() => medplum().clear(['Task', 'Subscription', 'Communication', 'Appointment']));

const run = () => handler(medplum().medplum);
const add = (given?: Given) => subscribe(medplum(), given);
const state = (subscriber: Subscribed) => stateOf(medplum(), subscriber);
const hour = 60 * 60_000;
const past = (): string => new Date(Date.now() - hour).toISOString();

const beating = () =>
  channelTo('https://portal.example.org/', {
    extension: [{ url: backport.heartbeatPeriod, valueUnsignedInt: 60 }],
  });

describe('a delivery is started', () => {
  it.each<[string, () => Given]>([
    ['whose next attempt is due', () => ({ outbox: { status: 'on-hold', until: Date.now() - 1_000 } })],
    [
      'that has died',
      () => ({ outbox: { status: 'ready' }, row: { lease: { id: 'dead', until: Date.now() - 1_000 } } }),
    ],
    ['for a heartbeat', () => ({ outbox: { sent: Date.now() - 61_000 }, changes: { channel: beating() } })],
    ['for the end of a Subscription', () => ({ changes: { end: past() } })],
    ['for a Subscription that was requested again', () => ({ status: 'requested' })],
    ['… after it had ended', () => ({ status: 'requested', outbox: { status: 'cancelled' } })],
    ['for one that was set to active after it had failed', () => ({ outbox: { status: 'failed' } })],
  ])('%s', async (_, given) => {
    const subscriber = await add(given());
    const before = Date.now();
    await run();
    const { outbox, outboxes, task } = await state(subscriber);
    expect([outbox.status, outboxes.lease, task.status]).toEqual(['ready', undefined, 'ready']);
    expect(outboxes.woken ?? before).toBeGreaterThanOrEqual(before);
  });

  it('that was requested and has not begun', async () => {
    const one = await add({ outbox: { status: 'ready' } });
    await later(OVERDUE + 1_000, run);
    expect((await state(one)).outboxes.woken).toBeGreaterThan(Date.now());
  });

  it('that has died, whose clock was ahead, where nobody has changed the Subscription since', async () => {
    const one = await add({ outbox: { status: 'ready' }, row: { lease: { id: 'dead', until: Date.now() + hour } } });
    const settled = Date.now() + 2 * OVERLAP;
    await medplum().create<Task>(checkpointTask({ until: settled, settled }, config));
    await later(3 * OVERLAP, run);
    expect((await state(one)).task.status).toBe('ready');
  });

  it.each<[string, () => Given]>([
    ['before the next attempt is due', () => ({ outbox: { status: 'on-hold', until: Date.now() + hour } })],
    [
      'while one is under way',
      () => ({ outbox: { status: 'ready' }, row: { lease: { id: 'alive', until: Date.now() + LEASE } } }),
    ],
    ['that was just requested', () => ({ outbox: { status: 'ready' }, status: 'requested' })],
    ['for nothing', () => ({})],
    ['for a Subscription in error', () => ({ outbox: { status: 'failed' }, status: 'error' })],
  ])('but not %s', async (_, given) => {
    const subscriber = await add(given());
    await run();
    expect((await state(subscriber)).task.status).toBe(subscriber.task.status);
  });
});

it('whoever subscribes after having left the clinic is switched off', async () => {
  const { id: owner } = await medplum().create<Practitioner>({ resourceType: 'Practitioner', active: false });
  const left = Date.now() + hour;
  await medplum().create<Task>(checkpointTask({ until: left, settled: left }, config));
  const subscriber = await add({ owner, status: 'requested' });
  await later(hour, run);
  expect((await state(subscriber)).subscription.status).toBe('off');
});

it('a run does the rest of its work if a part of it fails, and then fails', async () => {
  const subscriber = await add({ outbox: { status: 'on-hold', until: 0 } });
  await anAppointment(medplum());
  medplum().interfere(only(asks(new RegExp(`^PUT Task/${subscriber.task.id}$`)), () => 'no-answer'));
  await expect(run()).rejects.toThrow(`The outboxes of ${portal} could not be written: lost.`);
  expect(await medplum().find('Communication')).toHaveLength(1);
  expect(await medplum().find(checkpointSearch(config))).toHaveLength(1);
});

const checkpoints = () => medplum().find<Task>(checkpointSearch(config));
const periodOf = ([checkpoint]: readonly Task[]) => {
  const { start = '', end = '' } = checkpoint?.executionPeriod ?? {};
  return { settled: Date.parse(start), until: Date.parse(end) };
};
const events = () => medplum().find<Communication>('Communication?_count=1000');
const aboutOf = (communications: readonly Communication[]) =>
  communications.map(({ basedOn }) => basedOn?.[0]?.reference?.split('/')[1]).sort();
const minutes = 60_000;

describe('missing events', () => {
  it('are recorded, and how far that is', async () => {
    const subscriber = await add();
    const appointment = await anAppointment(medplum());
    const before = Date.now();
    await run();
    expect(aboutOf(await events())).toEqual([appointment.id]);
    expect((await state(subscriber)).outbox).toMatchObject({ status: 'ready', events: 1 });
    const tasks = await checkpoints();
    expect(tasks).toHaveLength(1);
    expect(periodOf(tasks).until).toBe(periodOf(tasks).settled);
    expect(periodOf(tasks).settled).toBeGreaterThanOrEqual(before);
  });

  it('leave the checkpoint as it is if another run has moved it', async () => {
    await run();
    const [stored] = await checkpoints();
    const moved = checkpointTask({ until: 1_000, settled: 1_000 }, config, stored);
    medplum().interfere(async ({ entries }) => {
      await (entries.includes(`PUT Task/${stored?.id}`) && medplum().change<Task>(moved, {}));
      return undefined;
    });
    await run();
    expect(periodOf(await checkpoints())).toEqual({ until: 1_000, settled: 1_000 });
  });

  it('are recorded from where the last run has ended', async () => {
    await add();
    await run();
    const [first] = await checkpoints();
    await anAppointment(medplum());
    await later(10 * minutes, run);
    expect(await events()).toHaveLength(1);
    const tasks = await checkpoints();
    expect(tasks.map(({ id }) => id)).toEqual([first?.id]);
    expect(periodOf(tasks).settled).toBeGreaterThan(Date.now() + 9 * minutes);
  });

  /** Runs some time later, with little time: it is over after the first write of events. */
  const runInHaste = (wait: number, page?: ReturnType<typeof searchesAnswer>) =>
    withClock(async (skip) => {
      skip(wait);
      medplum().interfere(({ entries }) => {
        skip(entries.includes('POST Communication') ? 6_000 : 0);
        return entries.some((url) => url.startsWith('GET Appointment?_lastUpdated')) ? page : undefined;
      });
      await run();
      medplum().interfere(() => undefined);
    });

  const changedAt = ({ meta }: Pick<Appointment, 'meta'>): number => Date.parse(meta?.lastUpdated ?? '');

  it.each<[string, number, number]>([
    ['since a moment', 5_000, 0],
    ['never', Number.NaN, 0],
    ['since a moment, of more than a run reads, after an hour without the clock', 5_000, MAX_CHANGED - 7],
  ])('of later changes are left to the next run when the time is over (settled: %s)', async (_, settled, more) => {
    await add();
    const period = { until: Date.now(), settled: settled || undefined };
    await medplum().create<Task>(checkpointTask(period, config));
    const changed: Appointment[] = [];
    for (let count = 0; count < 7; count++) {
      changed.push(await anAppointment(medplum()));
    }
    const page = searchesAnswer([...changed, ...Array<Appointment>(more).fill(changed[6] as Appointment)]);
    await (more > 0 ? runInHaste(70 * minutes, page) : runInHaste(10 * minutes));
    expect(aboutOf(await events())).toEqual(
      changed
        .slice(0, 5)
        .map(({ id }) => id)
        .sort(),
    );
    const until = changedAt(changed[5] as Appointment) + OVERLAP;
    expect(periodOf(await checkpoints())).toEqual({ until, settled });
    await later(80 * minutes, run);
    expect(await events()).toHaveLength(7);
  });

  it('are recorded of all appointments but the one whose history cannot be read, and of it once it can', async () => {
    const subscriber = await add();
    const broken = await anAppointment(medplum());
    for (let count = 0; count < 6; count++) {
      await anAppointment(medplum());
    }
    medplum().interfere(({ entries }) =>
      entries.some((url) => url.startsWith(`GET Appointment/${broken.id}/_history`))
        ? { status: 500, body: {} }
        : undefined,
    );
    await expect(run()).rejects.toThrow('500');
    expect((await state(subscriber)).outbox.events).toBe(6);
    medplum().interfere(() => undefined);
    await later(10 * minutes, run);
    expect((await state(subscriber)).outbox.events).toBe(7);
  });
});

/** Runs the Bot that follows a change of a Subscription in Medplum. */
async function follow({ subscription }: Subscribed): Promise<void> {
  const event = { bot: {}, input: subscription, contentType: 'application/fhir+json', secrets: {} };
  await restartHandshake(medplum().medplum, event);
}

describe('a Subscription that is requested again', () => {
  it('by making it active in Medplum after it was in error, gets a handshake', async () => {
    const subscriber = await add({ outbox: { status: 'failed', error: 'It fails.' }, status: 'error' });
    await changeSubscription(medplum(), subscriber, { status: 'active' });
    await follow(subscriber);
    const { subscription, outbox } = await state(subscriber);
    expect([subscription.status, outbox.status]).toEqual(['requested', 'ready']);
  });
});

it.each<[Subscription['status'], Outbox['status']]>([
  ['active', 'on-hold'],
  ['off', 'cancelled'],
  ['error', 'failed'],
  ['requested', 'ready'],
])('the status that somebody has set in Medplum is obeyed and stays: %s', async (status, followed) => {
  const subscriber = await add({ outbox: { status: 'on-hold', events: 3, delivered: 2 } });
  await changeSubscription(medplum(), subscriber, { status });
  await follow(subscriber);
  const { subscription, outbox } = await state(subscriber);
  expect([subscription.status, outbox]).toEqual([
    status,
    expect.objectContaining({ status: followed, events: 3, delivered: 2 }),
  ]);
});
