import '../../../config.ts';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { recordEvents, recordRemainingEvents } from '../../../../../bots/lib/notifications/events/event-writer.ts';
import type { SubscriptionOutbox } from '../../../../../bots/lib/notifications/outbox-store.ts';
import { requestorTag } from '../../../../../core/fhir/tags.ts';
import { portal } from '../../../../core/notifications/support.ts';
import { config } from '../../../config.ts';
import { withMedplum } from '../../../medplum.ts';
import {
  ahead,
  anAppointment,
  asksFor,
  conflict,
  eventsOf,
  forgetOutboxes,
  later,
  outboxNow,
  remove,
  rewrite,
  subscribe,
  writes,
} from './fixtures.ts';

const medplum = withMedplum();
afterEach(() => forgetOutboxes(medplum()));

const record = (...appointments: readonly Appointment[]) => recordEvents(medplum().medplum, appointments);

/** What is told of each event: what happened to which version. */
const toldTo = async (stored: SubscriptionOutbox): Promise<string[]> =>
  (await eventsOf(medplum(), stored)).map(({ number, kind, version }) => `${number} ${kind} ${version}`);

/** Several Subscriptions of one subscriber. */
async function several(count: number, owner = portal): Promise<SubscriptionOutbox[]> {
  const all: SubscriptionOutbox[] = [];
  while (all.length < count) {
    all.push(await subscribe(medplum(), { owner }));
  }
  return all;
}

const counts = (all: readonly SubscriptionOutbox[]): Promise<(number | undefined)[]> =>
  Promise.all(all.map(async (one) => (await outboxNow(medplum(), one))?.events));

const statuses = (all: readonly SubscriptionOutbox[]): Promise<(string | undefined)[]> =>
  Promise.all(all.map(async (one) => (await outboxNow(medplum(), one))?.status));

/** The transactions that were asked for, by how many outboxes each of them writes. */
const written = (): number[] =>
  medplum()
    .asked.filter(writes)
    .map(({ entries }) => entries.filter((one) => one.startsWith('PUT Task/')).length);

describe('the events of an appointment', () => {
  it('are one for each change, in order, and a delivery is started', async () => {
    const stored = await subscribe(medplum());
    const first = await anAppointment(medplum());
    const second = await medplum().change(first, { comment: 'Later' });
    expect(await record(second)).toBe(true);
    expect(await toldTo(stored)).toEqual([`1 create ${first.meta.versionId}`, `2 update ${second.meta?.versionId}`]);
    expect(await outboxNow(medplum(), stored)).toMatchObject({ status: 'ready', events: 2, delivered: 0 });
  });

  it('are recorded in one transaction after four reads', async () => {
    await subscribe(medplum());
    await record(await anAppointment(medplum()));
    expect(medplum().asked.slice(1).map(writes)).toEqual([false, false, false, false, true]);
  });

  it('are not recorded a second time, and nothing is written then', async () => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    await record(appointment);
    const before = medplum().asked.length;
    expect(await record(appointment)).toBe(true);
    expect(medplum().asked.slice(before).map(writes)).toEqual([false, false, false]);
    expect(await toldTo(stored)).toHaveLength(1);
  });

  it('are recorded once if it is named twice', async () => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    await record(appointment, appointment);
    expect(await toldTo(stored)).toHaveLength(1);
    const asked = medplum().asked.filter((one) => asksFor(one, 'GET Communication?based-on'));
    expect(asked.flatMap(({ entries }) => entries[0])).toEqual([
      `GET Communication?based-on=Appointment/${appointment.id}&_count=1000`,
    ]);
  });

  it.each<[string, readonly Appointment[]]>([
    ['no appointment', []],
    ['one without an id', [{ resourceType: 'Appointment', status: 'booked', participant: [] }]],
  ])('of %s are none: nobody is asked', async (_, appointments) => {
    await subscribe(medplum());
    const before = medplum().asked.length;
    expect(await record(...appointments)).toBe(true);
    expect(medplum().asked.slice(before)).toEqual([]);
  });

  it('are told to those only whose criteria it meets', async () => {
    const readable = ['Appointment?status=cancelled'];
    const [other, reader] = [await subscribe(medplum(), { outbox: { readable } }), await subscribe(medplum())];
    expect(await record(await anAppointment(medplum()))).toBe(true);
    expect(await counts([other, reader])).toEqual([0, 1]);
    expect(written()).toEqual([1]);
  });

  it('are none for those whom its tags do not concern: their outboxes are not even read', async () => {
    const { system } = requestorTag('other', config);
    await subscribe(medplum(), { outbox: { readable: [`Appointment?_tag=${system}|other`] } });
    const appointment = await anAppointment(medplum());
    const before = medplum().asked.length;
    expect(await record(appointment)).toBe(true);
    expect(medplum().asked).toHaveLength(before + 1);
  });

  it('are looked for among all Subscriptions if its tags are not to matter', async () => {
    const { system } = requestorTag('other', config);
    const tag = [requestorTag('other', config)];
    const other = await subscribe(medplum(), { outbox: { readable: [`Appointment?_tag=${system}|other`] } });
    const first = await anAppointment(medplum(), { meta: { tag } });
    const second = await medplum().change(first, { meta: { tag: [requestorTag(portal, config)] } });
    await remove(medplum(), second);
    const all = (among: 'all' | 'concerned') => recordRemainingEvents(medplum().medplum, [second], among, () => true);
    expect(await all('concerned')).toBe(true);
    expect(await toldTo(other)).toEqual([]);
    expect(await all('all')).toBe(true);
    expect(await toldTo(other)).toEqual([`1 create ${first.meta.versionId}`]);
  });

  it('fail to be recorded when the server refuses them', async () => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    medplum().interfere((asked) => (writes(asked) ? { status: 403, body: {} } : undefined));
    await expect(record(appointment)).rejects.toThrow('could not be written');
    expect(await toldTo(stored)).toEqual([]);
  });
});

describe('when somebody else records events at the same moment', () => {
  /** Others write an outbox just before the first so many transactions. */
  function overtake(stored: SubscriptionOutbox, times: number): void {
    let left = times;
    medplum().interfere(async (asked) => {
      if (writes(asked) && left > 0) {
        left -= 1;
        const task = await medplum().read<SubscriptionOutbox['task']>(`Task/${stored.task.id}`);
        await medplum().change(task ?? stored.task, { lastModified: new Date(left).toISOString() });
      }
      return undefined;
    });
  }

  it('they are decided upon again', async () => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    overtake(stored, 2);
    expect(await ahead({ milliseconds: 60_000 }, () => record(appointment))).toBe(true);
    expect(await toldTo(stored)).toEqual([`1 create ${appointment.meta.versionId}`]);
    expect(medplum().asked.filter(writes)).toHaveLength(3);
  });

  it('Medplum is not asked again who may read the same appointments', async () => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    const clock = { milliseconds: 60_000 };
    overtake(stored, 1);
    await ahead(clock, () => record(appointment));
    const asked = medplum().asked.flatMap(({ entries }) => entries);
    expect(asked.filter((one) => one.startsWith('GET Appointment?_id=') && one.endsWith('_fields=id'))).toHaveLength(1);
  });

  it('the events of the last twenty appointments that have just changed are recorded, too', async () => {
    const all: (Appointment & { id: string })[] = [];
    while (all.length < 21) {
      all.push(await anAppointment(medplum()));
      await later();
    }
    const stored = await subscribe(medplum());
    overtake(stored, 1);
    const last = all.at(-1);
    await record(...(last ? [last] : []));
    const told = new Set((await eventsOf(medplum(), stored)).map(({ appointment }) => appointment));
    expect(all.map(({ id }) => told.has(id))).toEqual([false, ...Array(20).fill(true)]);
  });

  it('the events of appointments that have not changed for ten seconds are left alone', async () => {
    const [other, changed] = [await anAppointment(medplum()), await anAppointment(medplum())];
    const stored = await subscribe(medplum());
    overtake(stored, 1);
    await ahead({ milliseconds: 60_000 }, () => record(changed));
    const told = (await eventsOf(medplum(), stored)).map(({ appointment }) => appointment);
    expect([told.includes(changed.id), told.includes(other.id)]).toEqual([true, false]);
  });

  it.each([
    [6_000, true],
    [7_001, false],
  ])('and it takes %d ms, it is tried again: %p', async (milliseconds, isTriedAgain) => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    const clock = { milliseconds: 0 };
    medplum().interfere((asked) => {
      const isFirst = writes(asked) && clock.milliseconds === 0;
      clock.milliseconds = isFirst ? milliseconds : clock.milliseconds;
      return isFirst ? conflict : undefined;
    });
    const recorded = ahead(clock, () => record(appointment));
    await (isTriedAgain
      ? expect(recorded).resolves.toBe(true)
      : expect(recorded).rejects.toThrow('Other runs recorded events at each attempt'));
    const told = (await eventsOf(medplum(), stored)).map((event) => event.appointment);
    expect(told.includes(appointment.id)).toBe(isTriedAgain);
  });

  it.each([
    ['at once', 'first'],
    ['at once', 'second'],
    ['one after the other', 'first'],
    ['one after the other', 'second'],
  ])('the other subscribers, who are told %s, are told once if the %s is overtaken', async (how, which) => {
    const all = [await subscribe(medplum(), { owner: 'one' }), await subscribe(medplum(), { owner: 'two' })];
    const appointment = await anAppointment(medplum());
    let count = 0;
    medplum().interfere((asked) => {
      count += writes(asked) ? 1 : 0;
      return writes(asked) && count === (which === 'first' ? 1 : 2) ? conflict : undefined;
    });
    const act =
      how === 'at once'
        ? record
        : (one: Appointment) => recordRemainingEvents(medplum().medplum, [one], 'all', () => true);
    expect(await ahead({ milliseconds: 60_000 }, () => act(appointment))).toBe(true);
    const told = await Promise.all(all.map((one) => toldTo(one)));
    expect(told).toEqual(all.map(() => [`1 create ${appointment.meta.versionId}`]));
  });
});

describe('of a subscriber with many Subscriptions', () => {
  it('ten are told at once, those of others before; four of them start a delivery', async () => {
    const [many, few] = [await several(11), await several(1, 'other')];
    const appointment = await anAppointment(medplum());
    expect(await record(appointment)).toBe(false);
    expect(written()).toEqual([1, 10]);
    expect((await counts(many)).filter((count) => count === 1)).toHaveLength(10);
    expect((await statuses(many)).sort()).toEqual([
      'accepted',
      ...Array(4).fill('ready'),
      ...Array(6).fill('received'),
    ]);
    expect(await statuses(few)).toEqual(['ready']);
  });

  it('ten are all', async () => {
    await several(10);
    expect(await record(await anAppointment(medplum()))).toBe(true);
    expect(written()).toEqual([10]);
  });

  it('the others are told ten by ten, and each time one starts a delivery', async () => {
    const many = await several(12);
    const appointment = await anAppointment(medplum());
    const remaining = () => recordRemainingEvents(medplum().medplum, [appointment], 'concerned', () => true);
    expect(await remaining()).toBe(true);
    expect(written()).toEqual([10, 2]);
    expect(await counts(many)).toEqual(Array(12).fill(1));
    expect((await statuses(many)).sort()).toEqual([...Array(5).fill('ready'), ...Array(7).fill('received')]);
  });
});

describe('transactions', () => {
  /** The most transactions that were under way at once. */
  function noteMost(): { most: number } {
    const noted = { most: 0 };
    let running = 0;
    medplum().interfere(async (asked) => {
      if (writes(asked)) {
        running += 1;
        await setImmediate();
        noted.most = Math.max(noted.most, running);
        running -= 1;
      }
      return undefined;
    });
    return noted;
  }

  const owners = ['one', 'two', 'three', 'four', 'five'];

  it('of a change are sent four at once', async () => {
    const all = (await Promise.all(owners.map((owner) => several(1, owner)))).flat();
    const noted = noteMost();
    expect(await record(await anAppointment(medplum()))).toBe(true);
    expect([noted.most, ...(await counts(all))]).toEqual([4, 1, 1, 1, 1, 1]);
  });

  it('that catch up are sent one after the other, and the server rests as long as each of them took', async () => {
    const all = (await Promise.all(owners.slice(0, 2).map((owner) => several(1, owner)))).flat();
    const appointment = await anAppointment(medplum());
    const clock = { milliseconds: 0 };
    const sent: number[] = [];
    medplum().interfere((asked) => {
      if (writes(asked)) {
        clock.milliseconds += 250;
        sent.push(performance.now());
      }
      return undefined;
    });
    const catchUp = () => recordRemainingEvents(medplum().medplum, [appointment], 'all', () => true);
    expect(await ahead(clock, catchUp)).toBe(true);
    expect(await counts(all)).toEqual([1, 1]);
    const [first = 0, second = 0] = sent;
    expect(second - first).toBeGreaterThan(245);
  });

  it.each([
    [1, true],
    [2, false],
  ])('that catch up end when there is no time: of %d the first is carried out', async (count, isComplete) => {
    const all = (await Promise.all(owners.slice(0, count).map((owner) => several(1, owner)))).flat();
    const appointment = await anAppointment(medplum());
    const noted = noteMost();
    const catchUp = () => recordRemainingEvents(medplum().medplum, [appointment], 'all', () => false);
    expect(await catchUp()).toBe(isComplete);
    expect(noted.most).toBe(1);
    expect((await counts(all)).filter((one) => one === 1)).toHaveLength(1);
  });
});

describe('after an outage', () => {
  it.each([
    [50, true],
    [51, false],
  ])('%d events of one Subscription are all that are missing: %p', async (count, isAll) => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    await rewrite(medplum(), appointment, count - 1);
    expect(await record(appointment)).toBe(isAll);
    expect(await counts([stored])).toEqual([count]);
  });

  it('one transaction records 500 events, of each Subscription as many; the next ones the rest', async () => {
    const all = await several(10);
    const appointment = await anAppointment(medplum());
    await rewrite(medplum(), appointment, 50);
    expect(await recordRemainingEvents(medplum().medplum, [appointment], 'all', () => false)).toBe(false);
    expect(await counts(all)).toEqual(Array(10).fill(50));
    expect(await recordRemainingEvents(medplum().medplum, [appointment], 'all', () => true)).toBe(true);
    expect(await counts(all)).toEqual(Array(10).fill(51));
  });

  it('the rest is recorded as long as there is time', async () => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    await rewrite(medplum(), appointment, 60);
    expect(await recordRemainingEvents(medplum().medplum, [appointment], 'all', () => true)).toBe(true);
    expect(await counts([stored])).toEqual([61]);
  });
});
