import '../config.ts';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { HealthcareService, Schedule, Slot, Task } from '@medplum/fhirtypes';
import { handler } from '../../../bots/calendar/publish-slots.ts';
import { publicationRow } from '../../../bots/lib/calendar/request.ts';
import { sendTransaction } from '../../../bots/lib/medplum.ts';
import { rowEntry } from '../../../core/calendar/publish/publication.ts';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { asks, meanwhile } from '../booking/fixtures.ts';
import { later, passMidnight, withClock } from '../clock.ts';
import { config, configured } from '../config.ts';
import {
  at,
  closedOn,
  DAY,
  date,
  day,
  offering,
  open,
  type Stored,
  visit,
  wholeDay,
  withCalendars,
} from './fixtures.ts';

const medplum = withCalendars();

const MINUTE = 60_000;

const outcome = { resourceType: 'OperationOutcome', issue: [{ details: { text: 'Not like this' } }] };
/** Tells the Bot what has changed, and starts it on each row that is requested then, as Medplum does. */
async function report(input: unknown): Promise<void> {
  await handler(medplum().medplum, { input } as Parameters<typeof handler>[1]);
  for (let rows = await requested(); rows.length > 0; rows = await requested()) {
    await Promise.all(rows.map((row) => handler(medplum().medplum, { input: row } as Parameters<typeof handler>[1])));
  }
}

const requested = () => medplum().find<Task>('Task?status=requested');

/** Runs the Bot as its clock does, so many milliseconds from now. */
const tick = (fromNow = 0) => later(fromNow, () => report({}));

const everyDay = (from: string, to: string): HealthcareService['availableTime'] => [
  {
    daysOfWeek: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'],
    availableStartTime: `${from}:00`,
    availableEndTime: `${to}:00`,
  },
];

/** A calendar with one Slot a day for so many days from tomorrow. */
const daily = (days = 42, service = visit(everyDay('00:00', '00:30'))) =>
  medplum().calendar(service, {
    planningHorizon: { end: new Date(Date.now() + days * DAY).toISOString().slice(0, 10) },
  });

afterAll(passMidnight());

const midnight = (Math.floor(Date.now() / DAY) + 1) * DAY;

const freeOf = async ({ id }: Stored<Schedule>): Promise<Slot[]> =>
  (await medplum().find<Slot>(`Slot?schedule=Schedule/${id}&status=free&_count=1000`)).sort((slot, other) =>
    slot.start.localeCompare(other.start),
  );

/** For how many days from tomorrow a calendar has Slots, without a gap. */
async function daysOf(schedule: Stored<Schedule>): Promise<number> {
  const starts = new Set((await freeOf(schedule)).map(({ start }) => start.slice(0, 10)));
  for (let days = 0; ; days++) {
    if (!starts.has(formatInstant(midnight + days * DAY).slice(0, 10))) {
      return days;
    }
  }
}

/** Lets each transaction that writes Slots take so many milliseconds, by the Bot's clock, which is ahead by as many. */
const slow = <T>(milliseconds: number, act: () => Promise<T>, ahead = 0): Promise<T> =>
  withClock(async (skip) => {
    skip(ahead);
    medplum().interfere(({ entries }) => {
      skip(entries.some((entry) => entry.endsWith(' Slot')) ? milliseconds : 0);
      return undefined;
    });
    try {
      return await act();
    } finally {
      medplum().interfere(() => undefined);
    }
  });

describe('a new calendar', () => {
  it('is published, and due again at midnight in its time zone', async () => {
    const { schedule } = await medplum().calendar();
    await report(schedule);
    expect(await medplum().times(schedule)).toEqual(wholeDay);
    expect(await medplum().publicationOf(schedule)).toMatchObject({
      status: 'completed',
      due: midnight,
      from: day + DAY,
    });
  });

  it('is published once by two runs and the clock at the same moment', async () => {
    const { schedule } = await daily();
    await Promise.all([report(schedule), report(schedule), tick()]);
    await tick(MINUTE);
    const starts = (await freeOf(schedule)).map(({ start }) => start);
    expect(starts).toHaveLength(42);
    expect(new Set(starts).size).toBe(42);
    expect(await medplum().find(`Task?focus=Schedule/${schedule.id}`)).toHaveLength(1);
  });
});

describe('a change', () => {
  it('of a service concerns its calendars alone', async () => {
    const { schedule, service } = await medplum().calendar();
    const second = await medplum().schedule({ serviceType: [offering(service)] });
    const { schedule: other } = await medplum().calendar();
    for (const one of [schedule, second, other]) {
      await report(one);
    }
    const before = await medplum().publicationOf(other);
    await report(await medplum().change(service, { availableTime: open('10:00', '11:00') }));
    for (const one of [schedule, second]) {
      expect((await freeOf(one)).map(({ start }) => start)).toEqual([at('10:00'), at('10:30')]);
    }
    expect(await medplum().publicationOf(other)).toEqual(before);
  });

  it('of closed days concerns all calendars, and so does their deletion', async () => {
    const calendars = [await medplum().calendar(), await medplum().calendar()];
    const closed = await medplum().create(closedOn(date()));
    await report(closed);
    for (const { schedule } of calendars) {
      expect(await medplum().times(schedule)).toEqual(['busy-unavailable 00:00-00:00']);
    }
    await medplum().fhir('DELETE', `HealthcareService/${closed.id}`);
    await report({ deletedResource: closed });
    for (const { schedule } of calendars) {
      expect(await freeOf(schedule)).toHaveLength(4);
    }
  });

  it('whose Schedule is gone offers nothing, and is not due any more', async () => {
    const { schedule } = await medplum().calendar();
    await report(schedule);
    const [first] = await freeOf(schedule);
    const booked = first && (await medplum().change<Slot>(first as Stored<Slot>, { status: 'busy' }));
    await medplum().appointment('booked', booked ? [booked] : []);
    await medplum().slot(schedule, 'free', '12:00', '12:30');
    await medplum().fhir('DELETE', `Schedule/${schedule.id}`);
    await report({ deletedResource: schedule });
    await tick(3 * MINUTE);
    expect(await freeOf(schedule)).toEqual([]);
    expect(await medplum().times(schedule)).toContain('busy 09:00-09:30');
    expect(await medplum().publicationOf(schedule)).toMatchObject({ status: 'cancelled', due: undefined });
  });
});

describe('the nearest two weeks', () => {
  it('of all calendars are published before the rest of any, and begin with the first day of each', async () => {
    const { service, schedule } = await daily(84);
    const serviceType = [offering(service)];
    const first = midnight + 60 * DAY;
    const planningHorizon = { start: formatInstant(first).slice(0, 10), end: schedule.planningHorizon?.end ?? '' };
    const later = await medplum().schedule({ serviceType, planningHorizon });
    const other = await medplum().schedule({ serviceType, planningHorizon: schedule.planningHorizon ?? {} });
    const written: boolean[] = [];
    medplum().interfere(({ bundle }) => {
      for (const { resource } of bundle?.entry ?? []) {
        if (resource?.resourceType === 'Slot') {
          const isLater = resource.schedule.reference === `Schedule/${later.id}`;
          written.push(Date.parse(resource.start) < (isLater ? first + DAY : midnight) + 14 * DAY);
        }
      }
      return undefined;
    });
    await report(service);
    medplum().interfere(() => undefined);
    expect([await daysOf(schedule), await daysOf(other), (await freeOf(later)).length]).toEqual([84, 84, 24]);
    expect(written.slice(written.indexOf(false))).not.toContain(true);
  });
});

describe('a run whose time is over', () => {
  it('has the next one go on, and none is left out', async () => {
    const { service, schedule } = await daily();
    const second = await medplum().schedule({
      serviceType: [offering(service)],
      planningHorizon: schedule.planningHorizon ?? {},
    });
    await slow(2_500, () => report(service));
    expect([await daysOf(schedule), await daysOf(second)]).toEqual([42, 42]);
    expect((await medplum().sweepOfAll())?.offset).toBeUndefined();
  });
});

describe('a run that dies', () => {
  it('is taken up by the clock', async () => {
    const { schedule } = await medplum().calendar();
    const { log } = console;
    console.log = () => undefined;
    medplum().interfere(({ entries }) => (entries.includes('POST Slot') ? 'no-answer' : undefined));
    await report(schedule);
    console.log = log;
    medplum().interfere(() => undefined);
    await tick(MINUTE);
    expect(await medplum().times(schedule)).toEqual(wholeDay);
  });

  it('holds up no other calendar', async () => {
    const { service, schedule } = await medplum().calendar();
    const second = await medplum().schedule({ serviceType: [offering(service)] });
    const { log } = console;
    const said: unknown[] = [];
    console.log = (text) => said.push(text);
    medplum().interfere(({ bundle }) =>
      (bundle?.entry ?? []).some(
        ({ resource }) =>
          resource?.resourceType === 'Slot' && resource.schedule.reference === `Schedule/${schedule.id}`,
      )
        ? 'no-answer'
        : undefined,
    );
    await report(service);
    console.log = log;
    expect(said).toEqual([`Error: The Slots of Schedule/${schedule.id} could not be written (lost).`]);
    expect(await medplum().times(second)).toEqual(wholeDay);
  });
});

it('whoever writes the publication row meanwhile has publishing read the Slots again', async () => {
  const { schedule } = await medplum().calendar();
  meanwhile(medplum(), asks(/^POST Slot$/), async () => {
    const row = await publicationRow(medplum().medplum, schedule.id);
    const resource: Slot = {
      resourceType: 'Slot',
      schedule: { reference: `Schedule/${schedule.id}` },
      status: 'busy',
      start: at('09:00'),
      end: at('09:30'),
    };
    const entry = [
      { request: { method: 'POST' as const, url: 'Slot' }, resource },
      ...(row ? [rowEntry(row, Date.now(), config)] : []),
    ];
    expect((await sendTransaction(medplum().medplum, entry)).kind).toBe('done');
  });
  await report(schedule);
  expect(await medplum().times(schedule)).toEqual(['busy 09:00-09:30', ...wholeDay.slice(1)]);
  expect((await medplum().publicationOf(schedule))?.status).toBe('completed');
});

describe('a day later', () => {
  /** A calendar whose horizon rolls, with two weeks of it. */
  const rolling = async (): Promise<Stored<Schedule>> => {
    const { schedule } = await medplum().calendar(visit(everyDay('00:00', '00:30')), { planningHorizon: undefined });
    await configured({ calendar: { ...config.calendar, horizonWeeks: 2 } }, () => report(schedule));
    return schedule;
  };
  const tickThen = (time: number) =>
    configured({ calendar: { ...config.calendar, horizonWeeks: 2 } }, () => tick(time - Date.now()));

  it('its horizon gains a day, not before', async () => {
    const schedule = await rolling();
    expect(await daysOf(schedule)).toBe(14);
    await tickThen(midnight - MINUTE);
    expect(await daysOf(schedule)).toBe(14);
    await tickThen(midnight + MINUTE);
    expect(await daysOf(schedule)).toBe(15);
    expect(await medplum().publicationOf(schedule)).toMatchObject({ status: 'completed', due: midnight + DAY });
  });
});

describe('the clock', () => {
  it('sweeps all Schedules when it is time', async () => {
    const { schedule } = await medplum().calendar();
    await medplum().sweep({ due: Date.now() + MINUTE });
    await tick();
    expect(await medplum().times(schedule)).toEqual([]);
    await tick(2 * MINUTE);
    expect(await medplum().times(schedule)).toEqual(wholeDay);
  });

  it('follows a change of a service that was missed', async () => {
    const { schedule, service } = await medplum().calendar();
    await report(service);
    await medplum().change(service, { availableTime: open('10:00', '11:00') });
    await tick(9 * MINUTE);
    expect(await freeOf(schedule)).toHaveLength(4);
    await tick(11 * MINUTE);
    expect(await freeOf(schedule)).toHaveLength(2);
  });

  it('leaves the queue to the run that works on it, until that must be dead', async () => {
    const { schedule } = await medplum().calendar();
    await medplum().publication({ schedule: schedule.id, status: 'accepted', due: Date.now() });
    await medplum().sweep({ busyUntil: Date.now() + 10_000 });
    await tick();
    expect(await medplum().times(schedule)).toEqual([]);
    await tick(MINUTE);
    expect(await medplum().times(schedule)).toEqual(wholeDay);
  });
});

describe('opening hours that cannot be published', () => {
  it.each<[string, Partial<Schedule>, RegExp]>([
    ['because of the actor', { actor: [{ reference: 'Practitioner/absent' }] }, /^Schedule\.actor: Opening hours need/],
    ['because of the horizon', { planningHorizon: { start: date(2), end: date(1) } }, /^Schedule\.planningHorizon/],
  ])('say why: %s', async (_, more, expected) => {
    const { schedule } = await medplum().calendar(visit(), more);
    await report(schedule);
    const publication = await medplum().publicationOf(schedule);
    expect(publication?.status).toBe('failed');
    expect(publication?.task.statusReason?.text).toMatch(expected);
  });

  it('because Medplum does not accept the Slots are tried once, and again the next day', async () => {
    const { schedule } = await daily();
    let tried = 0;
    medplum().interfere(({ entries }) => {
      const isTried = entries.includes('POST Slot');
      tried += isTried ? 1 : 0;
      return isTried ? { status: 400, body: outcome } : undefined;
    });
    await report(schedule);
    await tick(MINUTE);
    expect(tried).toBe(1);
    expect((await medplum().publicationOf(schedule))?.task).toMatchObject({
      status: 'failed',
      statusReason: { text: 'Schedule: Medplum does not accept the Slots of these opening hours: Not like this' },
      output: [{ type: { text: 'slots-refused' } }],
    });
    medplum().interfere(() => undefined);
    await tick(midnight + MINUTE - Date.now());
    expect((await freeOf(schedule)).length).toBeGreaterThan(0);
  });
});
