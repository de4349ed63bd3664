import '../../../config.ts';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Appointment, Patient, PatientLink, Task } from '@medplum/fhirtypes';
import {
  type EventState,
  formerPatients,
  readEventState,
  readMergedPatients,
} from '../../../../../bots/lib/notifications/events/event-state.ts';
import { mayBeNotified, recordEvents, rightsOf } from '../../../../../bots/lib/notifications/events/event-writer.ts';
import { requestorTag } from '../../../../../core/fhir/tags.ts';
import type { Change } from '../../../../../core/notifications/events/appointment-events.ts';
import { portal } from '../../../../core/notifications/support.ts';
import { ahead, nextMoment } from '../../../clock.ts';
import { config } from '../../../config.ts';
import { withMedplum } from '../../../medplum.ts';
import {
  anAppointment,
  batch,
  conflict,
  eventCounts,
  eventsOf,
  filteredBy,
  type Subscribed,
  subscribe,
  writes,
} from '../outboxes.ts';

const medplum = withMedplum();

const record = (...appointments: readonly Appointment[]) => recordEvents(medplum().medplum, appointments);

const counts = (subscribers: readonly Subscribed[]) => eventCounts(medplum(), subscribers);

afterEach(() => medplum().clear(['Task']));

/** What is told of each event: what happened to which version. */
const toldTo = async (stored: Subscribed): Promise<string[]> =>
  (await eventsOf(medplum(), stored)).map(({ number, kind, version }) => `${number} ${kind} ${version}`);

describe('the events of an appointment', () => {
  it('are looked for among all Subscriptions if its tags are not to matter', async () => {
    const { system } = requestorTag('other', config);
    const tag = [requestorTag('other', config)];
    const subscriber = await subscribe(medplum(), { row: { readable: [`Appointment?_tag=${system}|other`] } });
    const first = await anAppointment(medplum(), { meta: { tag } });
    const second = await medplum().change<Appointment>(first, { meta: { tag: [requestorTag(portal, config)] } });
    await medplum().fhir('DELETE', `${second.resourceType}/${second.id}`);
    const all = (among: 'all' | 'concerned') => recordEvents(medplum().medplum, [second], among, () => true);
    expect(await all('concerned')).toBe(true);
    expect(await toldTo(subscriber)).toEqual([]);
    expect(await all('all')).toBe(true);
    expect(await toldTo(subscriber)).toEqual([`1 create ${first.meta.versionId}`]);
  });
});

describe('when somebody else records events at the same moment', () => {
  /** Others write an outbox just before the first so many transactions. */
  function overtake(stored: Subscribed, times: number): void {
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
    const notified = new Set((await eventsOf(medplum(), stored)).map(({ appointment }) => appointment));
    expect(all.map(({ id }) => notified.has(id))).toEqual([false, ...Array(20).fill(true)]);
  });

  it.each([
    ['at once', 'first'],
    ['at once', 'second'],
    ['one after the other', 'first'],
    ['one after the other', 'second'],
  ])('the other subscribers, who are told %s, are told once if the %s is overtaken', async (how, which) => {
    const subscribers = [await subscribe(medplum(), { owner: 'one' }), await subscribe(medplum(), { owner: 'two' })];
    const appointment = await anAppointment(medplum());
    let count = 0;
    medplum().interfere((asked) => {
      count += writes(asked) ? 1 : 0;
      return writes(asked) && count === (which === 'first' ? 1 : 2) ? conflict : undefined;
    });
    const act =
      how === 'at once' ? record : (one: Appointment) => recordEvents(medplum().medplum, [one], 'all', () => true);
    expect(await ahead({ milliseconds: 60_000 }, () => act(appointment))).toBe(true);
    const notified = await Promise.all(subscribers.map((subscriber) => toldTo(subscriber)));
    expect(notified).toEqual(subscribers.map(() => [`1 create ${appointment.meta.versionId}`]));
  });
});

/** Several Subscriptions of one subscriber. */
async function several(count: number, owner = portal): Promise<Subscribed[]> {
  const subscribers: Subscribed[] = [];
  while (subscribers.length < count) {
    subscribers.push(await subscribe(medplum(), { owner }));
  }
  return subscribers;
}

it('of a subscriber with many Subscriptions all are told by one event and one row', async () => {
  const many = await several(100);
  const subscribers = await several(2, 'other');
  const appointment = await anAppointment(medplum());
  const written: string[] = [];
  medplum().interfere((asked) => {
    written.push(...(writes(asked) ? asked.entries : []));
    return undefined;
  });
  expect(await record(appointment)).toBe(true);
  expect(await counts([...many, ...subscribers])).toEqual(Array(102).fill(1));
  expect(written.map((one) => one.split(/[/?]/)[0]).sort()).toEqual([
    'POST Communication',
    'POST Communication',
    'PUT Task',
    'PUT Task',
  ]);
});

describe('after an outage', () => {
  /** Writes so many further versions of an appointment. */
  const rewrite = (appointment: Appointment, count: number) =>
    batch(
      medplum(),
      Array.from({ length: count }, (_, index) => ({
        request: { method: 'PUT', url: `Appointment/${appointment.id}` },
        resource: { ...appointment, comment: `Change ${index}` },
      })),
    );
  it('what one transaction has no room for is left: 500 events of one Subscription, the oldest come first', async () => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    await rewrite(appointment, 1_600);
    for (const [isAll, count] of [
      [false, 500],
      [false, 1_000],
      [false, 1_500],
      [true, 1_601],
    ] as const) {
      expect(await record(appointment)).toBe(isAll);
      expect(await counts([stored])).toEqual([count]);
    }
    const events = await eventsOf(medplum(), stored);
    expect(events.map(({ number }) => number)).toEqual(events.map((_, index) => index + 1));
    const versions = events.map(({ version }) => version);
    expect([versions[0], new Set(versions).size]).toEqual([appointment.meta.versionId, versions.length]);
  });
});

const booked = 'Appointment?status=booked';
const cancelled = 'Appointment?status=cancelled';
let owners = 0;

const listening = (...readable: readonly string[]) => {
  owners += 1;
  return subscribe(medplum(), { owner: `owner-${owners}`, row: { readable } });
};

it('the rights of subscribers are those by which Medplum finds the appointments now: one of the criteria must be met', async () => {
  const [one, both, none] = [await listening(booked), await listening(booked, cancelled), await listening()];
  const [open, over, fulfilled] = [
    await anAppointment(medplum()),
    await anAppointment(medplum(), { status: 'cancelled' }),
    await anAppointment(medplum(), { status: 'fulfilled' }),
  ];
  const ids = [open.id, over.id, fulfilled.id];
  const mayRead = await rightsOf(medplum().medplum)([one, both, none], ids);
  expect([one, both, none].map((stored) => ids.map((id) => mayRead(stored, id)))).toEqual([
    [true, false, false],
    [true, true, false],
    [false, false, false],
  ]);
  expect(mayRead(one, 'unknown')).toBe(false);
});

describe('a change of an appointment that was deleted', () => {
  const { system } = requestorTag('', config);
  const current: Appointment = {
    resourceType: 'Appointment',
    id: 'a1',
    status: 'booked',
    participant: [],
    meta: { tag: [requestorTag('portal', config)] },
  };
  const change = { previous: undefined, current, by: undefined };
  const state: EventState = { outboxes: [], changes: [], events: [], gone: new Set(['a1']), merged: [] };
  const never = () => {
    throw new Error('Medplum no longer answers for it.');
  };

  it.each([
    ['who may read all', true, 'Appointment'],
    ['who may read those with its tag', true, `Appointment?_tag=${system}|portal`],
    ['who may read those with another tag', false, `Appointment?_tag=${system}|other`],
    ['whose rights cannot be told from it', false, booked],
  ])('is told to a subscriber %s: %p', async (_, expected, readable) => {
    expect(mayBeNotified(state, await listening(readable), change, never)).toBe(expected);
  });
});

const read = ({ id = '' }: Appointment) => readEventState(medplum().medplum, [id], 'any');

const versionsIn = ({ changes }: EventState) =>
  changes.map(({ current, deleted }) => `${current.meta?.versionId}${deleted === undefined ? '' : ' deleted'}`);

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
});

const linkTo = (id: string, type: PatientLink['type'] = 'replaced-by'): PatientLink => ({
  type,
  other: { reference: `Patient/${id}` },
});

/** A patient of somebody, merged into others. */
const aPatient = (link: readonly PatientLink[] = [], owner = portal) =>
  medplum().create<Patient>({
    resourceType: 'Patient',
    meta: { tag: [requestorTag(owner, config)] },
    ...(link.length > 0 && { link: [...link] }),
  });

const changeOf = (...actors: readonly (string | undefined)[]): Change => ({
  previous: undefined,
  by: undefined,
  current: {
    resourceType: 'Appointment',
    status: 'booked',
    participant: actors.map((reference) => ({ status: 'accepted', ...(reference && { actor: { reference } }) })),
  },
});

describe('merged patients', () => {
  let asking: Subscribed;
  beforeEach(async () => {
    asking = await subscribe(medplum(), { changes: filteredBy('Appointment?patient=Patient/p') });
  });

  const read = async (outboxes: readonly Subscribed[], ...changes: readonly Change[]) => {
    const merged = await readMergedPatients(medplum().medplum, outboxes, changes);
    return merged.map(({ id }) => id);
  };

  it('are those who are replaced by a patient, not those who are linked otherwise', async () => {
    const survivor = await aPatient();
    const merged = await aPatient([linkTo(survivor.id)]);
    await aPatient([linkTo(survivor.id, 'seealso')]);
    const elsewhere = await aPatient();
    await aPatient([linkTo(elsewhere.id), linkTo(survivor.id, 'seealso')]);
    expect(await read([asking], changeOf(`Patient/${survivor.id}`))).toEqual([merged.id]);
  });
});

describe('the patients whom a subscriber may know', () => {
  const merged = (id: string, into: string, owner = portal): Patient => ({
    resourceType: 'Patient',
    id,
    meta: { tag: [requestorTag(owner, config)] },
    link: [linkTo(into)],
  });
  const limited = { row: { readable: ['Appointment?_tag=x|y'] } };

  it.each<[string, object, string[]]>([
    ['of one who may read every appointment are all', {}, ['Patient/b', 'Patient/c', 'Patient/d']],
    ['of others are their own', limited, ['Patient/b', 'Patient/d']],
  ])('%s', async (_, given, expected) => {
    const patients = [merged('b', 'a'), merged('c', 'a', 'other'), merged('d', 'c'), merged('e', 'x')];
    const formerOf = formerPatients(patients, await subscribe(medplum(), given));
    expect(formerOf('Patient/a')).toEqual(expected);
    expect(formerOf('Patient/e')).toEqual([]);
    expect(formerOf('Practitioner/a')).toEqual([]);
  });
});
