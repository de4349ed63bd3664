import '../../../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Appointment, Communication, Patient } from '@medplum/fhirtypes';
import { type EventState, readEventState } from '../../../../../bots/lib/notifications/events/event-state.ts';
import { tagTokens } from '../../../../../core/notifications/events/concern.ts';
import { nextMoment } from '../../../clock.ts';
import { withMedplum } from '../../../medplum.ts';
import {
  anAppointment,
  asksFor,
  batch,
  eventFor,
  filteredBy,
  forgetOutboxes,
  foundFor,
  remove,
  rewrite,
  stateFor,
  subscribe,
} from './fixtures.ts';

const medplum = withMedplum();
afterEach(() => forgetOutboxes(medplum()));

const read = (...appointments: readonly Appointment[]) => stateFor(medplum(), ...appointments);

const versionsIn = ({ changes }: EventState) =>
  changes.map(({ current, deleted }) => `${current.meta?.versionId}${deleted === undefined ? '' : ' deleted'}`);

describe('what decides about events', () => {
  it('is not asked for if nobody listens', async () => {
    const appointment = await anAppointment(medplum());
    expect(await read(appointment)).toEqual({ outboxes: [], changes: [], events: [], gone: new Set(), merged: [] });
    expect(medplum().asked).toHaveLength(1);
  });

  it('are the changes of all the appointments, the oldest first', async () => {
    await subscribe(medplum());
    const [one, other] = [await anAppointment(medplum()), await anAppointment(medplum())];
    await nextMoment();
    const last = await medplum().change(other, { comment: 'Later' });
    await nextMoment();
    const very = await medplum().change(one, { comment: 'Last' });
    const versions = [one, other, last, very].map(({ meta }) => meta?.versionId);
    expect(versionsIn(await read(one, other))).toEqual(versions);
    expect(new Set(versionsIn(await read(other, one)).slice(0, 2))).toEqual(new Set(versions.slice(0, 2)));
    expect(versionsIn(await read(other, one)).slice(2)).toEqual(versions.slice(2));
  });

  it('are deletions, too, at the time when they were made', async () => {
    await subscribe(medplum());
    const [gone, other] = [await anAppointment(medplum()), await anAppointment(medplum())];
    await remove(medplum(), gone);
    const state = await read(gone, other);
    expect(versionsIn(state).at(-1)).toBe(`${gone.meta.versionId} deleted`);
    expect([...state.gone]).toEqual([gone.id]);
  });

  it('are the outboxes, and the events about these appointments', async () => {
    const stored = await subscribe(medplum());
    const [one, other] = [await anAppointment(medplum()), await anAppointment(medplum())];
    const third = await anAppointment(medplum());
    const known = [await medplum().create(eventFor(one, stored)), await medplum().create(eventFor(other, stored, 2))];
    await medplum().create(eventFor(third, stored, 3));
    const { outboxes, events, gone } = await read(one, other);
    expect(outboxes.map(({ subscription }) => subscription.id)).toEqual([stored.subscription.id]);
    expect(new Set(events.map(({ id }) => id))).toEqual(new Set(known.map(({ id }) => id)));
    expect(gone.size).toBe(0);
  });

  it('are the outboxes that some tags concern', async () => {
    await subscribe(medplum(), { outbox: { readable: ['Appointment?_tag=https://example.org|other'] } });
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    const { outboxes } = await readEventState(medplum().medplum, [appointment.id], tagTokens([appointment.meta]));
    expect(outboxes.map(({ subscription }) => subscription.id)).toEqual([stored.subscription.id]);
  });

  it('are the patients who were merged', async () => {
    const survivor = await medplum().create<Patient>({ resourceType: 'Patient' });
    const link = [{ type: 'replaced-by' as const, other: { reference: `Patient/${survivor.id}` } }];
    const merged = await medplum().create<Patient>({ resourceType: 'Patient', link });
    await subscribe(medplum(), { more: filteredBy(`Appointment?patient=Patient/${merged.id}`) });
    const actor = { reference: `Patient/${survivor.id}` };
    const state = await read(await anAppointment(medplum(), { participant: [{ actor, status: 'accepted' }] }));
    expect(state.merged.map(({ id }) => id)).toEqual([merged.id]);
  });

  it('are not those of the oldest version that was read, if there are older ones', async () => {
    await subscribe(medplum(), { outbox: { since: Date.now() + 60_000 } });
    const appointment = await anAppointment(medplum());
    await rewrite(medplum(), appointment, 52);
    expect(versionsIn(await read(appointment))).toHaveLength(49);
  });
});

describe('a history that lags behind', () => {
  const lagging = /The histories lag behind the appointments/;

  /** A replica answers requests for histories with what it has. */
  function replicaHas(entry: readonly object[]): void {
    const resource = { resourceType: 'Bundle', type: 'history', total: entry.length, entry };
    const answer = {
      resourceType: 'Bundle',
      type: 'batch-response',
      entry: [{ response: { status: '200' }, resource }],
    };
    medplum().interfere((asked) =>
      asked.entries[0]?.includes('/_history') ? { status: 200, body: answer } : undefined,
    );
  }

  it('is not relied on if it lacks the current version', async () => {
    await subscribe(medplum());
    const first = await anAppointment(medplum());
    const second = await medplum().change(first, { comment: 'Later' });
    replicaHas([{ resource: first }]);
    await expect(read(second)).rejects.toThrow(lagging);
    replicaHas([{ resource: second }, { resource: first }]);
    expect(versionsIn(await read(second))).toHaveLength(2);
  });

  it('is not relied on if it has no versions', async () => {
    await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    replicaHas([]);
    await expect(read(appointment)).rejects.toThrow(lagging);
  });

  it('is not relied on if it lacks the deletion', async () => {
    await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    await remove(medplum(), appointment);
    replicaHas([{ resource: appointment }]);
    await expect(read(appointment)).rejects.toThrow(lagging);
  });

  it('of one appointment is not relied on, though that of another is up to date', async () => {
    await subscribe(medplum());
    const [one, other] = [await anAppointment(medplum()), await anAppointment(medplum())];
    const second = await medplum().change(one, { comment: 'Later' });
    const pages = [[{ resource: one }], [{ resource: other }]];
    const entry = pages.map((page) => ({
      response: { status: '200' },
      resource: { resourceType: 'Bundle', type: 'history', total: 1, entry: page },
    }));
    const body = { resourceType: 'Bundle', type: 'batch-response', entry };
    medplum().interfere((asked) => (asked.entries[0]?.includes('/_history') ? { status: 200, body } : undefined));
    await expect(read(second, other)).rejects.toThrow(lagging);
  });

  it.each<[string, (one: Appointment) => Promise<unknown>, number]>([
    ['changed', (one) => medplum().change(one, { comment: 'Meanwhile' }), 2],
    ['deleted', (one) => remove(medplum(), one), 2],
  ])('is none of an appointment that is %s while it is read', async (_, act, count) => {
    await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    medplum().interfere(async ({ entries }) => {
      if (entries[0]?.includes('/_history')) {
        await act(appointment);
      }
      return undefined;
    });
    const state = await read(appointment);
    expect(versionsIn(state)).toHaveLength(count);
    expect(state.gone.size).toBe(0);
  });
});

describe('events that are too many for one search', () => {
  /** Medplum finds a thousand events about the appointments. */
  function crowd(appointments: readonly Appointment[]): void {
    const one: Communication = { resourceType: 'Communication', status: 'preparation' };
    medplum().interfere((asked) =>
      asksFor(asked, 'GET Communication?based-on=') ? foundFor(Array(1000).fill(one), appointments) : undefined,
    );
  }

  it('are read Subscription by Subscription and appointment by appointment', async () => {
    const [first, second] = [await subscribe(medplum()), await subscribe(medplum())];
    const [one, other] = [await anAppointment(medplum()), await anAppointment(medplum())];
    const known = await medplum().create(eventFor(one, second));
    crowd([one, other]);
    const { events } = await read(one, other);
    expect(events.map(({ id }) => id)).toEqual([known.id]);
    const asked = medplum().asked.filter((asked) => asksFor(asked, 'GET Communication?part-of='));
    const searches = [first, second].flatMap(({ subscription }) =>
      [one, other].map(
        ({ id, meta }) =>
          `GET Communication?part-of=Subscription/${subscription.id}&based-on=Appointment/${id}` +
          `&sent=ge${meta.lastUpdated}&_sort=sent&_count=1000&_offset=0`,
      ),
    );
    expect(asked.map(({ entries }) => new Set(entries))).toEqual([new Set(searches)]);
  });

  it('are read from the oldest version on that was read', async () => {
    await subscribe(medplum());
    const first = await anAppointment(medplum());
    await nextMoment();
    const second = await medplum().change(first, { comment: 'Later' });
    crowd([second]);
    await read(second);
    const [search] = medplum().asked.flatMap(({ entries }) => entries.filter((one) => one.includes('sent=')));
    expect(search).toContain(`sent=ge${first.meta.lastUpdated}`);
  });

  it('are read twenty searches at a time', async () => {
    for (let count = 0; count < 21; count++) {
      await subscribe(medplum());
    }
    const appointment = await anAppointment(medplum());
    crowd([appointment]);
    await read(appointment);
    const asked = medplum().asked.filter((one) => asksFor(one, 'GET Communication?part-of='));
    expect(asked.map(({ entries }) => entries.length)).toEqual([20, 1]);
  });

  it('are any one more of an appointment that was deleted: its subscriber was told of it', async () => {
    const stored = await subscribe(medplum());
    const gone = await anAppointment(medplum());
    const known = await medplum().create({ ...eventFor(gone, stored), sent: '2020-01-01T00:00:00Z' });
    await remove(medplum(), gone);
    crowd([]);
    const { events } = await read(gone);
    expect(events.map(({ id }) => id)).toEqual([known.id]);
    const asked = medplum().asked.flatMap(({ entries }) => entries.filter((one) => one.includes('part-of=')));
    expect(asked).toHaveLength(2);
    expect(asked[1]).toMatch(/&based-on=Appointment\/[^&]+&_count=1$/);
  });

  it('are read page by page where there are more versions than one search gives', async () => {
    await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    await rewrite(medplum(), appointment, 1000);
    const [current] = await medplum().find<Appointment>(`Appointment?_id=${appointment.id}`);
    crowd(current ? [current] : []);
    await read(appointment);
    const asked = medplum().asked.flatMap(({ entries }) => entries.filter((one) => one.includes('part-of=')));
    expect(asked.map((one) => /_offset=(.*)$/.exec(one)?.[1])).toEqual(['0', '1000']);
  });

  it('are not so up to 999', async () => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    const all = Array.from({ length: 999 }, (_, index) => eventFor(appointment, stored, index + 1));
    await batch(
      medplum(),
      all.map((resource) => ({ request: { method: 'POST', url: 'Communication' }, resource })),
    );
    expect((await read(appointment)).events).toHaveLength(999);
    expect(medplum().asked.some((one) => asksFor(one, 'GET Communication?part-of='))).toBe(false);
  });
});
