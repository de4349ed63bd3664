import '../../../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Appointment, Task } from '@medplum/fhirtypes';
import { recordEvents } from '../../../../../bots/lib/notifications/events/event-writer.ts';
import type { SubscriptionOutbox } from '../../../../../bots/lib/notifications/outbox-store.ts';
import { requestorTag } from '../../../../../core/fhir/tags.ts';
import { portal } from '../../../../core/notifications/support.ts';
import { ahead, nextMoment } from '../../../clock.ts';
import { config } from '../../../config.ts';
import { withMedplum } from '../../../medplum.ts';
import {
  anAppointment,
  conflict,
  eventCounts,
  eventsOf,
  forgetOutboxes,
  outboxNow,
  remove,
  subscribe,
  writes,
} from './fixtures.ts';

const medplum = withMedplum();
afterEach(() => forgetOutboxes(medplum()));

const record = (...appointments: readonly Appointment[]) => recordEvents(medplum().medplum, appointments);

/** What is told of each event: what happened to which version. */
const toldTo = async (stored: SubscriptionOutbox): Promise<string[]> =>
  (await eventsOf(medplum(), stored)).map(({ number, kind, version }) => `${number} ${kind} ${version}`);

const counts = (all: readonly SubscriptionOutbox[]) => eventCounts(medplum(), all);

describe('the events of an appointment', () => {
  it('are one for each change, in order, and a delivery is started', async () => {
    const stored = await subscribe(medplum());
    const first = await anAppointment(medplum());
    const second = await medplum().change(first, { comment: 'Later' });
    expect(await record(second)).toBe(true);
    expect(await toldTo(stored)).toEqual([`1 create ${first.meta.versionId}`, `2 update ${second.meta?.versionId}`]);
    expect(await outboxNow(medplum(), stored)).toMatchObject({ status: 'ready', events: 2, delivered: 0 });
  });

  it('are not recorded a second time, and nothing is written then', async () => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    await record(appointment);
    expect(await record(appointment)).toBe(true);
    expect(await toldTo(stored)).toHaveLength(1);
  });

  it('are recorded once if it is named twice', async () => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    await record(appointment, appointment);
    expect(await toldTo(stored)).toHaveLength(1);
  });

  it.each<[string, readonly Appointment[]]>([
    ['no appointment', []],
    ['one without an id', [{ resourceType: 'Appointment', status: 'booked', participant: [] }]],
  ])('of %s are none', async (_, appointments) => {
    await subscribe(medplum());
    expect(await record(...appointments)).toBe(true);
  });

  it('are told to those only whose criteria it meets', async () => {
    const readable = ['Appointment?status=cancelled'];
    const [other, reader] = [
      await subscribe(medplum(), { owner: 'other', row: { readable } }),
      await subscribe(medplum()),
    ];
    expect(await record(await anAppointment(medplum()))).toBe(true);
    expect(await counts([other, reader])).toEqual([0, 1]);
  });

  it('are none for those whom its tags do not concern', async () => {
    const { system } = requestorTag('other', config);
    await subscribe(medplum(), { row: { readable: [`Appointment?_tag=${system}|other`] } });
    const appointment = await anAppointment(medplum());
    expect(await record(appointment)).toBe(true);
  });

  it('are told to those whom its tags concern', async () => {
    const { system } = requestorTag(portal, config);
    const stored = await subscribe(medplum(), { row: { readable: [`Appointment?_tag=${system}|${portal}`] } });
    expect(await record(await anAppointment(medplum()))).toBe(true);
    expect(await toldTo(stored)).toHaveLength(1);
  });

  it('are looked for among all Subscriptions if its tags are not to matter', async () => {
    const { system } = requestorTag('other', config);
    const tag = [requestorTag('other', config)];
    const other = await subscribe(medplum(), { row: { readable: [`Appointment?_tag=${system}|other`] } });
    const first = await anAppointment(medplum(), { meta: { tag } });
    const second = await medplum().change<Appointment>(first, { meta: { tag: [requestorTag(portal, config)] } });
    await remove(medplum(), second);
    const all = (among: 'all' | 'concerned') => recordEvents(medplum().medplum, [second], among, () => true);
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
        const task = await medplum().read<Task>(`Task/${stored.row.task.id}`);
        await medplum().change(task ?? stored.row.task, { lastModified: new Date(left).toISOString() });
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
  });

  it('the events of the last twenty appointments that have just changed are recorded, too', async () => {
    const all: (Appointment & { id: string })[] = [];
    while (all.length < 21) {
      all.push(await anAppointment(medplum()));
      await nextMoment();
    }
    const stored = await subscribe(medplum());
    overtake(stored, 1);
    const last = all.at(-1);
    await ahead({ milliseconds: -5_000 }, () => record(...(last ? [last] : [])));
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
    [1_000, true],
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
      how === 'at once' ? record : (one: Appointment) => recordEvents(medplum().medplum, [one], 'all', () => true);
    expect(await ahead({ milliseconds: 60_000 }, () => act(appointment))).toBe(true);
    const told = await Promise.all(all.map((one) => toldTo(one)));
    expect(told).toEqual(all.map(() => [`1 create ${appointment.meta.versionId}`]));
  });
});
