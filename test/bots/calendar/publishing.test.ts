import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { HealthcareService, Schedule, Slot, Task } from '@medplum/fhirtypes';
import { handler } from '../../../bots/calendar/publish-slots.ts';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { later, withClock } from '../clock.ts';
import { config, configured } from '../config.ts';
import { at, DAY, offering, open, type Stored, visit, wholeDay, withCalendars } from './fixtures.ts';

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

const midnight = (Math.floor(Date.now() / DAY) + 1) * DAY;

const freeOf = async ({ id }: Stored<Schedule>): Promise<Slot[]> =>
  (await medplum().find<Slot>(`Slot?schedule=Schedule/${id}&status=free&_count=1000`)).sort((one, other) =>
    one.start.localeCompare(other.start),
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

const somebodyBooks = () => medplum().appointment('booked', []);

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
  it('while a run publishes what was before is published in the end', async () => {
    const { schedule, service } = await medplum().calendar();
    let isChanged = false;
    medplum().interfere(async ({ entries }) => {
      if (entries.includes('POST Slot') && !isChanged) {
        isChanged = true;
        await report(await medplum().change(service, { availableTime: open('10:00', '11:00') }));
      }
      return undefined;
    });
    await report(schedule);
    expect((await freeOf(schedule)).map(({ start }) => start)).toEqual([at('10:00'), at('10:30')]);
  });

  it('whose Schedule is gone is not due any more', async () => {
    const { schedule } = await medplum().calendar();
    await report(schedule);
    await medplum().fhir('DELETE', `Schedule/${schedule.id}`);
    await tick(midnight + MINUTE - Date.now());
    expect(await medplum().publicationOf(schedule)).toMatchObject({ status: 'cancelled', due: undefined });
  });
});

describe('while somebody books', () => {
  it('six new calendars have their nearest two weeks at once', async () => {
    await somebodyBooks();
    const calendars = await Promise.all(Array.from({ length: 6 }, () => daily(84)));
    await slow(500, () => Promise.all(calendars.map(({ schedule }) => report(schedule))));
    for (const { schedule } of calendars) {
      expect(await daysOf(schedule)).toBeGreaterThanOrEqual(13);
    }
  });

  it('changed hours show for the nearest two weeks of a few calendars before the rest of any', async () => {
    const { service, schedule } = await daily(84);
    const more = { serviceType: [offering(service)], planningHorizon: schedule.planningHorizon ?? {} };
    const calendars = [schedule, await medplum().schedule(more), await medplum().schedule(more)];
    await somebodyBooks();
    const written: string[] = [];
    medplum().interfere(({ bundle }) => {
      const slots = (bundle?.entry ?? []).flatMap(({ resource }) =>
        resource?.resourceType === 'Slot' ? [resource.start] : [],
      );
      written.push(...slots);
      return undefined;
    });
    await report(service);
    const isNear = (start = '') => Date.parse(start) < Date.now() + 14 * DAY;
    for (const one of calendars) {
      expect(await daysOf(one)).toBeGreaterThanOrEqual(13);
      expect(await daysOf(one)).toBeLessThan(42);
    }
    await tick(3 * MINUTE);
    for (const one of calendars) {
      expect(await daysOf(one)).toBe(84);
    }
    const rest = written.findIndex((start) => Date.parse(start) > Date.now() + 28 * DAY);
    expect(written.slice(rest).filter(isNear)).toEqual([]);
  });

  it('many calendars are published in the share of the time that publishing has', async () => {
    const { service, schedule } = await daily();
    const more = { serviceType: [offering(service)], planningHorizon: schedule.planningHorizon ?? {} };
    const calendars = [schedule];
    for (let count = 1; count < 30; count++) {
      calendars.push(await medplum().schedule(more));
    }
    await somebodyBooks();
    const published = async () => {
      const days = await Promise.all(calendars.map(daysOf));
      return days.filter((count) => count > 0).length;
    };
    await slow(2_000, () => report(service));
    const atOnce = await published();
    expect(atOnce).toBeLessThan(10);
    expect(await requested()).toEqual([]);
    await configured({ calendar: { ...config.calendar, publishingShare: 0.02 } }, async () => {
      await slow(2_000, () => report({}), MINUTE);
    });
    const byClock = await published();
    expect(byClock - atOnce).toBeGreaterThan(0);
    expect(byClock - atOnce).toBeLessThanOrEqual(2);
    // Nobody books any more: all the time there is.
    await tick(3 * MINUTE);
    expect(await Promise.all(calendars.map(daysOf))).toEqual(calendars.map(() => 42));
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
    expect((await medplum().lookAtAll())?.status).toBe('completed');
  });

  it('goes on with a look where it was', async () => {
    const service = await medplum().create(visit());
    const schedules: Stored<Schedule>[] = [];
    for (let count = 0; count < 45; count++) {
      schedules.push(await medplum().schedule({ serviceType: [offering(service)] }));
    }
    await withClock(async (skip) => {
      medplum().interfere(({ entries }) => {
        skip(entries.includes('POST Task') ? 4_000 : 0);
        return undefined;
      });
      await report(service);
    });
    for (const schedule of schedules) {
      expect((await medplum().publicationOf(schedule))?.status).toBe('completed');
    }
  });
});

describe('a run that dies', () => {
  it('is taken up by the clock when its claim ends', async () => {
    const { schedule } = await medplum().calendar();
    const { log } = console;
    console.log = () => undefined;
    medplum().interfere(({ entries }) => (entries.includes('POST Slot') ? 'no-answer' : undefined));
    await report(schedule);
    console.log = log;
    medplum().interfere(() => undefined);
    await tick(20_000);
    expect(await medplum().times(schedule)).toEqual([]);
    await tick(40_000);
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

  it('what was taken unseen is withdrawn', async () => {
    const schedule = await rolling();
    const [first] = (await freeOf(schedule)).slice(3);
    await medplum().slot(schedule, 'busy', first?.start ?? '', first?.end ?? '');
    await tickThen(midnight + MINUTE);
    expect((await freeOf(schedule)).map(({ start }) => start)).not.toContain(first?.start);
  });
});

describe('the clock', () => {
  it('leaves what is due to others if enough are about it', async () => {
    await medplum().look();
    for (const schedule of ['one', 'two', 'three', 'four']) {
      await medplum().publication({ schedule, status: 'in-progress', due: Date.now() + 30_000 });
    }
    const { schedule } = await medplum().calendar();
    await report(schedule);
    expect(await medplum().times(schedule)).toEqual([]);
    await tick(MINUTE);
    expect(await medplum().times(schedule)).toEqual(wholeDay);
  });
});

describe('opening hours that cannot be published', () => {
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
