import '../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Appointment, Communication, Task } from '@medplum/fhirtypes';
import { handler } from '../../../bots/notifications/retry-deliveries.ts';
import {
  CHANGED_AT_ONCE,
  checkpointSearch,
  checkpointTask,
  OVERLAP,
} from '../../../core/notifications/delivery/checkpoint.ts';
import { later, withClock } from '../clock.ts';
import { config } from '../config.ts';
import {
  addAppointment,
  type Given,
  removeAll,
  type Subscribed,
  searchesAnswer,
  stateOf,
  subscribeLongAgo,
} from '../lib/notifications/outboxes.ts';
import { withMedplum } from '../medplum.ts';

const medplum = withMedplum();
afterEach(() => removeAll(medplum(), 'Task', 'Subscription', 'Communication', 'Appointment'));

const run = () => handler(medplum().medplum);
const add = (given?: Given) => subscribeLongAgo(medplum(), given);
const state = (one: Subscribed) => stateOf(medplum(), one);

const checkpoints = () => medplum().find<Task>(checkpointSearch(config));
const periodOf = ([checkpoint]: readonly Task[]) => {
  const { start = '', end = '' } = checkpoint?.executionPeriod ?? {};
  return { settled: Date.parse(start), until: Date.parse(end) };
};
const events = () => medplum().find<Communication>('Communication?_count=1000');
const aboutOf = (some: readonly Communication[]) =>
  some.map(({ basedOn }) => basedOn?.[0]?.reference?.split('/')[1]).sort();
const minutes = 60_000;

describe('missing events', () => {
  it('are recorded, and how far that is', async () => {
    const one = await add();
    const appointment = await addAppointment(medplum());
    const before = Date.now();
    await run();
    expect(aboutOf(await events())).toEqual([appointment.id]);
    expect((await state(one)).outbox).toMatchObject({ status: 'ready', events: 1 });
    const all = await checkpoints();
    expect(all).toHaveLength(1);
    expect(periodOf(all).until).toBe(periodOf(all).settled);
    expect(periodOf(all).settled).toBeGreaterThanOrEqual(before);
  });

  it('are recorded from where the last run has ended', async () => {
    await add();
    await run();
    const [first] = await checkpoints();
    await addAppointment(medplum());
    await later(10 * minutes, run);
    expect(await events()).toHaveLength(1);
    const all = await checkpoints();
    expect(all.map(({ id }) => id)).toEqual([first?.id]);
    expect(periodOf(all).settled).toBeGreaterThan(Date.now() + 9 * minutes);
  });

  it('are recorded by runs at the same time, which keep one checkpoint', async () => {
    await add();
    await addAppointment(medplum());
    await Promise.all([run(), run()]);
    expect(await events()).toHaveLength(1);
    expect(await checkpoints()).toHaveLength(1);
  });

  it('leave the checkpoint as it is if another run has moved it', async () => {
    await run();
    const [stored] = await checkpoints();
    const moved = checkpointTask({ until: 1_000, settled: 1_000 }, config, stored);
    medplum().interfere(async ({ entries }) => {
      if (entries.includes(`PUT Task/${stored?.id}`)) {
        await medplum().change<Task>(moved, {});
      }
      return undefined;
    });
    await run();
    expect(periodOf(await checkpoints())).toEqual({ until: 1_000, settled: 1_000 });
  });

  /** Runs ten minutes later, with little time: it is over after so many writes of events. */
  const runInHaste = (most = 1) =>
    withClock(async (skip) => {
      skip(10 * minutes);
      let writes = 0;
      medplum().interfere(({ entries }) => {
        writes += entries.includes('POST Communication') ? 1 : 0;
        skip(entries.includes('POST Communication') && writes === most ? 6_000 : 0);
        return undefined;
      });
      await run();
    });

  const changedAt = ({ meta }: Pick<Appointment, 'meta'>): number => Date.parse(meta?.lastUpdated ?? '');

  it.each<[string, number]>([
    ['since a moment', 5_000],
    ['never', Number.NaN],
  ])('of later changes are left to the next run when the time is over (settled: %s)', async (_, settled) => {
    await add();
    const period = { until: Date.now(), settled: settled || undefined };
    await medplum().create<Task>(checkpointTask(period, config));
    const changed: Appointment[] = [];
    for (let count = 0; count < 7; count++) {
      changed.push(await addAppointment(medplum()));
    }
    await runInHaste();
    expect(aboutOf(await events())).toEqual(
      changed
        .slice(0, 5)
        .map(({ id }) => id)
        .sort(),
    );
    const until = changedAt(changed[5] as Appointment) + OVERLAP;
    expect(periodOf(await checkpoints())).toEqual({ until, settled });
    await later(20 * minutes, run);
    expect(await events()).toHaveLength(7);
  });

  it('are recorded of all appointments but the one whose history cannot be read, and of it once it can', async () => {
    const one = await add();
    const broken = await addAppointment(medplum());
    for (let count = 0; count < 6; count++) {
      await addAppointment(medplum());
    }
    medplum().interfere(({ entries }) =>
      entries.some((url) => url.startsWith(`GET Appointment/${broken.id}/_history`))
        ? { status: 500, body: {} }
        : undefined,
    );
    await expect(run()).rejects.toThrow('500');
    expect((await state(one)).outbox.events).toBe(6);
    medplum().interfere(() => undefined);
    await later(10 * minutes, run);
    expect((await state(one)).outbox.events).toBe(7);
  });

  it('are recorded behind more than one run reads, and one whose history cannot be read for an hour', async () => {
    await add();
    const broken = await addAppointment(medplum());
    const appointment = await addAppointment(medplum());
    const last = await addAppointment(medplum());
    await medplum().create<Task>(checkpointTask({ until: changedAt(broken), settled: 5_000 }, config));
    const page = searchesAnswer([broken, ...Array<Appointment>(CHANGED_AT_ONCE - 1).fill(appointment)]);
    medplum().interfere(({ entries: [url = ''] }) => {
      const [, from = ''] = /^GET Appointment\?_lastUpdated=ge([^&]+)/.exec(url) ?? [];
      const isHeld = Date.parse(decodeURIComponent(from)) <= changedAt(broken);
      const isBroken = url.startsWith(`GET Appointment/${broken.id}/_history`);
      return isBroken ? { status: 500, body: {} } : isHeld ? page : undefined;
    });
    await expect(later(10 * minutes, run)).rejects.toThrow('500');
    expect(aboutOf(await events())).not.toContain(last.id);
    await expect(later(70 * minutes, run)).rejects.toThrow('500');
    await later(71 * minutes, run);
    expect(aboutOf(await events())).toContain(last.id);
  });

  it('may be of more changes than one run reads', async () => {
    await add({ row: { readable: ['Appointment?_tag=https://example.org|other'] } });
    await medplum().create<Task>(checkpointTask({ until: Date.now(), settled: 5_000 }, config));
    const appointment = await addAppointment(medplum());
    const last = await addAppointment(medplum());
    const first = Array<Appointment>(CHANGED_AT_ONCE - 1).fill(appointment);
    const found = searchesAnswer([...first, last]);
    medplum().interfere(({ entries }) =>
      entries.some((url) => url.startsWith('GET Appointment?_lastUpdated')) ? found : undefined,
    );
    await later(10 * minutes, run);
    expect(periodOf(await checkpoints())).toEqual({ until: changedAt(last) + OVERLAP, settled: 5_000 });
  });
});
