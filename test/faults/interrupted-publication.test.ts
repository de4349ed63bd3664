import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import vm from 'node:vm';
import { type Sandbox, startSandbox } from '@appointment-booking/sandbox';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MedplumClient } from '@medplum/core';
import type { HealthcareService, Schedule, Slot, Task } from '@medplum/fhirtypes';
import { publicationIn } from '../../core/calendar/publish/publication.ts';
import { botSource } from '../../core/config/bots.ts';
import { resolveConfig } from '../../core/config/resolve.ts';
import { rowCodes } from '../../core/rows/row.ts';
import { withMarks } from '../../core/slots/slot.ts';
import { DAY, instantOf, localTimeOf } from '../../core/time/time-zone.ts';
import { bundleBot } from '../../scripts/build/bots.ts';
import { scaled } from '../lib/time-scale.ts';

const HOUR = 60 * 60_000;
const ZONE = 'Europe/Berlin';

const config = resolveConfig({ baseUrl: 'http://localhost:8080/fhir/R4', calendar: { horizonWeeks: 3 } });

let sandbox: Sandbox;
let medplum: MedplumClient;
let script: vm.Script;

beforeAll(async () => {
  const [started, code] = await Promise.all([startSandbox(), bundleBot(botSource('publish-slots'), config)]);
  sandbox = started;
  medplum = new MedplumClient({ baseUrl: sandbox.baseUrl, cacheTime: 0 });
  await medplum.startClientLogin(sandbox.clientId, sandbox.clientSecret);
  script = new vm.Script(`const exports = {}; const module = { exports };\n${code}\nexports.handler(medplum, event);`);
});

afterAll(() => sandbox.close());

/** How a process dies at one of its requests that write: before it is sent, or after the server has carried it out. */
interface Death {
  readonly write: number;
  readonly side: 'before' | 'after';
}

class Died extends Error {}

/** Requests that a server does not answer which is too busy for them, and goes on. */
type Unanswered = (body: string) => boolean;

/** Runs the Bot as Medplum does; where it dies nothing of it goes on. */
async function run(
  input: unknown,
  death?: Death,
  later = 0,
  isUnanswered: Unanswered = () => false,
): Promise<{ writes: number; died: boolean }> {
  let writes = 0;
  let died = false;
  const fetchOnce: typeof fetch = async (url, init) => {
    const isWrite = /"method":"(?:PUT|POST)"/.test(String(init?.body));
    writes += isWrite ? 1 : 0;
    if (isUnanswered(String(init?.body))) {
      throw new Error('ECONNRESET');
    }
    const isFatal = isWrite && death?.write === writes;
    if (died || (isFatal && death.side === 'before')) {
      died = true;
      throw new Died();
    }
    const response = await fetch(url, init);
    if (isFatal) {
      died = true;
      throw new Died();
    }
    return response;
  };
  const now = (): number => Date.now() + later;
  class Clock extends Date {
    static override now = now;
  }
  const require = createRequire(import.meta.url);
  const globals = {
    console: { error: () => undefined },
    URL,
    URLSearchParams,
    TextEncoder,
    TextDecoder,
    process,
    require,
  };
  const context = { ...globals, Date: Clock, medplum, event: { input }, fetch: fetchOnce };
  await Promise.resolve(script.runInNewContext(context)).catch((reason: unknown) => {
    if (!died) {
      throw reason;
    }
  });
  return { writes, died };
}

/** A Schedule that is open an hour a day, with appointments of 20 minutes. */
async function aCalendar(): Promise<Schedule> {
  const [service, practitioner] = await Promise.all([
    medplum.createResource<HealthcareService>({
      resourceType: 'HealthcareService',
      availableTime: [
        {
          daysOfWeek: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'],
          availableStartTime: '09:00:00',
          availableEndTime: '10:00:00',
        },
      ],
      extension: [
        {
          url: 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters',
          extension: [
            { url: 'duration', valueDuration: { value: 20, unit: 'min' } },
            { url: 'alignmentInterval', valueDuration: { value: 20, unit: 'min' } },
            { url: 'timezone', valueCode: ZONE },
          ],
        },
      ],
    }),
    medplum.createResource({ resourceType: 'Practitioner', name: [{ family: randomUUID() }] }),
  ]);
  return medplum.createResource<Schedule>({
    resourceType: 'Schedule',
    actor: [{ reference: `Practitioner/${practitioner.id}` }],
    serviceType: [
      {
        extension: [
          {
            url: 'https://medplum.com/fhir/service-type-reference',
            valueReference: { reference: `HealthcareService/${service.id}` },
          },
        ],
      },
    ],
  });
}

/** A Schedule whose Slots are all made by hand. */
const aBareCalendar = (): Promise<Schedule> =>
  medplum.createResource<Schedule>({ resourceType: 'Schedule', actor: [{ display: randomUUID() }] });

const slotsOf = ({ id }: Schedule): Promise<Slot[]> =>
  medplum.searchResources('Slot', { schedule: `Schedule/${id}`, _count: 1000, _sort: 'start' }, { cache: 'reload' });

const keysOf = (slots: readonly Slot[]): string[] => slots.map(({ identifier }) => identifier?.[0]?.value ?? '');

async function publicationOf({ id }: Schedule): Promise<Task | undefined> {
  const query = { code: rowCodes(['publish'], config), focus: `Schedule/${id}` };
  return medplum.searchOne('Task', query, { cache: 'reload' });
}

/** What Medplum does by itself: it starts the Bot on a requested Task, and by the clock, whose minutes pass at once. */
async function untilPublished(schedule: Schedule, later = 0): Promise<void> {
  for (let minute = 0; minute < 30; minute++) {
    const task = await publicationOf(schedule);
    if (task && publicationIn(task)?.status === 'completed') {
      return;
    }
    await (task?.status === 'requested'
      ? run(task, undefined, later)
      : run({}, undefined, later + (minute + 1) * 60_000));
  }
  throw new Error('It was not published within 30 minutes of the clock.');
}

/** The run that publishes a new Schedule. */
const publish = async (schedule: Schedule, death?: Death): Promise<number> => (await run(schedule, death)).writes;

it(
  'a run that dies at any write leaves nothing out and nothing twice',
  async () => {
    const undisturbed = await aCalendar();
    const writes = await publish(undisturbed);
    await untilPublished(undisturbed);
    const complete = (await slotsOf(undisturbed)).map(({ start }) => start);
    expect(complete.length).toBeGreaterThanOrEqual(3 * 21);
    expect(writes).toBeGreaterThan(4);
    for (let write = 1; write <= writes; write++) {
      for (const side of ['before', 'after'] as const) {
        const schedule = await aCalendar();
        await publish(schedule, { write, side });
        await untilPublished(schedule);
        const slots = await slotsOf(schedule);
        expect([write, side, slots.map(({ start }) => start)]).toEqual([write, side, complete]);
        expect(new Set(keysOf(slots)).size).toBe(slots.length);
        expect(slots.every(({ status }) => status === 'free')).toBe(true);
      }
    }
  },
  scaled(60_000),
);

it(
  'a clock that dies at any write goes on where it was',
  async () => {
    // From tomorrow's noon on: no midnight passes within these minutes.
    const today = Math.floor(localTimeOf(ZONE, Date.now()) / DAY) * DAY;
    const noon = instantOf(ZONE, today + DAY + 12 * HOUR) - Date.now();
    const newest = await aCalendar();
    await run(newest, undefined, noon);
    await untilPublished(newest, noon);
    const later = noon + 7 * DAY;
    const before = await slotsOf(newest);
    for (let write = 1; write <= 8; write++) {
      for (const side of ['before', 'after'] as const) {
        await run({}, { write, side }, later);
      }
    }
    for (let minute = 1; minute <= 10; minute++) {
      await run({}, undefined, later + minute * 60_000);
    }
    const after = await slotsOf(newest);
    expect(after.length).toBe(before.length + 3 * 7);
    expect(new Set(keysOf(after)).size).toBe(after.length);
  },
  scaled(60_000),
);

it('a Slot that goes is followed later if the server does not answer: its time returns', async () => {
  const schedule = await aCalendar();
  await publish(schedule);
  await untilPublished(schedule);
  const complete = (await slotsOf(schedule)).map(({ start }) => start);
  const [first] = complete;
  const external = await medplum.createResource<Slot>({
    resourceType: 'Slot',
    schedule: { reference: `Schedule/${schedule.id}` },
    status: 'busy',
    start: first ?? '',
    end: new Date(Date.parse(first ?? '') + 60_000).toISOString(),
  });
  const freeOnes = async () =>
    (await slotsOf(schedule)).filter(({ status }) => status === 'free').map(({ start }) => start);
  await run(external);
  expect(await freeOnes()).toEqual(complete.slice(1));
  await medplum.deleteResource('Slot', external.id ?? '');
  const isOfCalendar: Unanswered = (body) => body.includes('Slot?') && body.includes('_filter');
  await expect(run({ deletedResource: external }, undefined, 0, isOfCalendar)).rejects.toThrow('could not be read');
  expect(await freeOnes()).toEqual(complete.slice(1));
  await untilPublished(schedule);
  expect(await freeOnes()).toEqual(complete);
});

it('Slots that take time from a calendar while it is published for the first time make no other Slot twice', async () => {
  for (let round = 0; round < 4; round++) {
    const schedule = await aCalendar();
    const from = Math.ceil(Date.now() / DAY) * DAY;
    const externals = await Promise.all(
      [1, 2, 3].map((day) =>
        medplum.createResource<Slot>({
          resourceType: 'Slot',
          schedule: { reference: `Schedule/${schedule.id}` },
          status: 'busy',
          start: new Date(from + day * DAY).toISOString(),
          end: new Date(from + day * DAY + 60_000).toISOString(),
        }),
      ),
    );
    await Promise.all([publish(schedule), ...externals.map((external) => run(external))]);
    await untilPublished(schedule);
    const published = (await slotsOf(schedule)).filter(({ status }) => status === 'free');
    expect(published.length).toBeGreaterThanOrEqual(3 * 20);
    expect([round, new Set(keysOf(published)).size]).toEqual([round, published.length]);
  }
});

it.each([
  ['the rest free', false, aCalendar],
  ['the rest booked', true, aCalendar],
  ['the rest free, without opening hours', false, aBareCalendar],
  ['the rest booked, without opening hours', true, aBareCalendar],
] as const)(
  'a part of a Slot made by hand returns once, wherever it is, though two see it at the same moment: %s',
  async (_, isBooked, makeCalendar) => {
    const schedule = await makeCalendar();
    await run(schedule);
    await ((await publicationOf(schedule)) && untilPublished(schedule));
    const eight = Math.ceil(Date.now() / DAY) * DAY + 40 * DAY + 8 * HOUR;
    const aSlot = (status: Slot['status'], from: number, to: number) =>
      medplum.createResource<Slot>({
        resourceType: 'Slot',
        schedule: { reference: `Schedule/${schedule.id}` },
        status,
        start: new Date(eight + from * HOUR).toISOString(),
        end: new Date(eight + to * HOUR).toISOString(),
      });
    const free = async () =>
      (await slotsOf(schedule)).filter(({ status, start }) => status === 'free' && Date.parse(start) >= eight);
    const hours = async () =>
      (await free()).map(({ start, end }) => [start, end].map((time) => (Date.parse(time) - eight) / HOUR));
    await aSlot('free', 0, 6);
    const [stays, goes] = [await aSlot('busy-unavailable', 2, 3), await aSlot('busy-unavailable', 3, 6)];
    await run(stays);
    await run(goes);
    expect(await hours()).toEqual([[0, 2]]);
    const [rest] = await free();
    // As the guard of the installation stores it.
    await (isBooked && rest && medplum.updateResource(withMarks({ ...rest, status: 'busy' }, rest, config)));
    await medplum.deleteResource('Slot', goes.id ?? '');
    await Promise.all([run({ deletedResource: goes }), run({ deletedResource: goes }), run(stays)]);
    await untilPublished(schedule);
    expect(await hours()).toEqual([...(isBooked ? [] : [[0, 2]]), [3, 6]]);
  },
);
