/**
 * What is published is what Medplum's own `$find` offers, apart from the faults of `$find` listed in faults.ts, for
 * calendars made at random: FIND_CALENDARS of them (12), FIND_PUBLISHED published by the installation itself (2), both by
 * FIND_SEED, which is printed.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { HealthcareService, Practitioner, Schedule, Slot } from '@medplum/fhirtypes';
import { z } from 'zod';
import { publishingOf } from '../../../../core/calendar/parameters/schedule-calendar.ts';
import { planSlots } from '../../../../core/calendar/publish/publish.ts';
import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import { publishedValueOf } from '../../../../core/fhir/scheduling/slot-marks.ts';
import type { Interval } from '../../../../core/time/interval.ts';
import { scaled } from '../../../lib/time-scale.ts';
import { eventually } from '../../../lib/until.ts';
import { stored, succeeded } from '../../fixtures.ts';
import { medplum } from '../../http.ts';
import { config } from '../../installation.ts';
import { type GeneratedCalendar, type GeneratedSlot, publishedTrials, type Trial, trials } from './calendars.ts';
import { everyFault, type Fault, startsWith } from './faults.ts';

const seed = Number(process.env.FIND_SEED ?? randomInt(2 ** 31));
const count = Number(process.env.FIND_CALENDARS ?? 12);
const published = Number(process.env.FIND_PUBLISHED ?? 2);
const run = randomUUID().slice(0, 8);

const MINUTE = 60_000;

/** A calendar as it is stored. */
interface Stored {
  readonly trial: Trial;
  readonly service: HealthcareService & { id: string };
  readonly practitioner: Practitioner;
  readonly schedule: Schedule & { id: string };
  readonly slots: readonly Slot[];
}

const withId = <T extends { id?: string }>(one: T): T & { id: string } => ({ ...one, id: one.id ?? '' });

const off = { url: artefactUri(config, 'LocalPublishing'), valueBoolean: false };

async function store(trial: Trial, isPublished: boolean): Promise<Stored> {
  const body = {
    POST: (type: string, resource: unknown) => medplum('front-desk', 'POST', `/${type}`, { body: resource }),
  };
  const [service, practitioner] = await Promise.all([
    body.POST('HealthcareService', trial.service).then((response) => succeeded('HealthcareService', response)),
    body.POST('Practitioner', trial.practitioner).then((response) => succeeded('Practitioner', response)),
  ]);
  const said = trial.scheduleOf(practitioner.id ?? '', service.id ?? '');
  const resource = isPublished ? said : { ...said, extension: [...(said.extension ?? []), off] };
  const schedule = withId(succeeded('Schedule', await body.POST('Schedule', resource)));
  const slots: Slot[] = [];
  for (const { start, end, ...rest } of trial.calendar.slots) {
    const times = { start: new Date(start).toISOString(), end: new Date(end).toISOString() };
    // What is made at random overlaps.
    const extension = [{ url: artefactUri(config, 'LocalOverbooking'), valueBoolean: true }];
    const reference = `Schedule/${schedule.id}`;
    const slot = { resourceType: 'Slot', schedule: { reference }, extension, ...rest, ...times };
    // A run that publishes the Schedule at that moment may be in the way.
    const response = await eventually(() => body.POST('Slot', slot)).is(({ status }) => status !== 409);
    slots.push(succeeded('Slot', response));
  }
  return { trial, service: withId(service), practitioner, schedule, slots };
}

/** What is published by the rules of the service, within a search. */
function publishedStarts({ trial, service, practitioner, schedule, slots }: Stored, now: number): number[] {
  const { search, calendar } = trial;
  const own = { ...schedule, extension: (schedule.extension ?? []).filter(({ url }) => url !== off.url) };
  const publishing = publishingOf({ schedule: own, services: [service], actor: practitioner }, config);
  expect(publishing).toMatchObject({ kind: 'on' });
  const { changes } = planSlots(
    {
      schedule: own,
      services: [service],
      publishing,
      window: search,
      slots,
      held: new Set(),
      closedDays: [],
      now,
      horizonWeeks: 1,
    },
    config,
  );
  // A free Slot made by hand that a taking cuts in two gains a piece, too: that is not published.
  const made = changes.filter(({ stored: before, resource }) => !before && publishedValueOf(resource, config));
  return startsIn(
    made.map(({ resource }) => resource),
    search,
    calendar,
  );
}

/** `$find` looks for room for the buffers within its search. */
function startsIn(
  slots: readonly Slot[],
  search: Interval,
  { bufferBefore, bufferAfter }: GeneratedCalendar,
): number[] {
  return slots
    .filter(({ start, end }) => {
      const isLate = Date.parse(start) - bufferBefore * MINUTE >= search.start;
      return isLate && Date.parse(end) + bufferAfter * MINUTE <= search.end;
    })
    .map(({ start }) => Date.parse(start))
    .sort((one, other) => one - other);
}

const foundShape = z.object({
  entry: z.array(z.object({ resource: z.looseObject({ start: z.string() }) })).optional(),
});

/** What `$find` of Medplum offers; nothing where it says that the search lies outside the planning horizon. */
async function find({ trial: { search }, service, schedule }: Stored): Promise<number[]> {
  const query = new URLSearchParams({
    start: new Date(search.start).toISOString(),
    end: new Date(search.end).toISOString(),
    'service-type-reference': `HealthcareService/${service.id}`,
    schedule: `Schedule/${schedule.id}`,
    _count: '1000',
  });
  const { status, body, text } = await medplum('front-desk', 'GET', `/Appointment/$find?${query}`);
  if (status === 400 && text.includes('planning horizon')) {
    return [];
  }
  expect([status, text]).toEqual([200, expect.any(String)]);
  return (foundShape.parse(body).entry ?? []).map(({ resource }) => Date.parse(resource.start)).sort((a, b) => a - b);
}

/** Carries something out for each, a few at a time. */
async function each<T, R>(items: readonly T[], action: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += 4) {
    results.push(...(await Promise.all(items.slice(from, from + 4).map(action))));
  }
  return results;
}

const same = (one: readonly number[], other: readonly number[]): boolean => one.join() === other.join();

const iso = (times: readonly number[]): string[] => times.map((time) => new Date(time).toISOString());

/** What one list has and the other has not, for whoever has to find out why. */
function difference(trial: Trial, got: readonly number[], wanted: readonly number[]) {
  return {
    calendar: trial.calendar,
    search: iso([trial.search.start, trial.search.end]),
    more: iso(got.filter((time) => !wanted.includes(time))),
    less: iso(wanted.filter((time) => !got.includes(time))),
  };
}

const without = (fault: Fault): Fault[] => everyFault.filter((one) => one !== fault);

describe(`calendars at random, FIND_SEED=${seed}`, () => {
  it(
    'are published as $find offers them, apart from its faults',
    async () => {
      const compared = await each(trials(seed, count, run), async (trial) => {
        const one = await store(trial, false);
        return { trial, ours: publishedStarts(one, trial.search.start - 1), found: await find(one) };
      });
      const wrong = compared.flatMap(({ trial, ours, found }) => [
        ...(same(ours, startsWith(trial.calendar, trial.search, []))
          ? []
          : [{ by: 'publication', ...difference(trial, ours, startsWith(trial.calendar, trial.search, [])) }]),
        ...(same(found, startsWith(trial.calendar, trial.search, everyFault))
          ? []
          : [{ by: '$find', ...difference(trial, found, startsWith(trial.calendar, trial.search, everyFault)) }]),
      ]);
      expect({ count: wrong.length, first: wrong.slice(0, 3) }).toEqual({ count: 0, first: [] });
      const blamed = everyFault.map((fault) => {
        const changed = compared.filter(
          ({ trial, found }) => !same(found, startsWith(trial.calendar, trial.search, without(fault))),
        );
        return `${fault}: ${changed.length}`;
      });
      const alike = compared.filter(({ ours, found }) => same(ours, found)).length;
      const offers = compared.reduce((sum, { ours }) => sum + ours.length, 0);
      console.info(
        `FIND_SEED=${seed}: of ${compared.length} calendars (${offers} offers) $find offers ${alike} alike; ${blamed.join(', ')}`,
      );
      expect(offers).toBeGreaterThan(0);
    },
    scaled(count * 3_000 + 30_000),
  );

  it(
    'that the installation itself has published are what the rules say, and $find agrees',
    async () => {
      await each(publishedTrials(seed, published, `${run}-published`), async (trial) => {
        const one = await store(trial, true);
        const now = Date.now();
        const wanted = publishedStarts(one, now);
        const query = `schedule=Schedule/${one.schedule.id}&status=free`;
        const slots = await eventually(() => stored('Slot', query), 60_000).is((free) =>
          same(startsIn(free, trial.search, trial.calendar), wanted),
        );
        const free = slots.map(({ start, end, status, serviceType }): GeneratedSlot => {
          return { start: Date.parse(start), end: Date.parse(end), status, ...(serviceType && { serviceType }) };
        });
        const calendar = { ...trial.calendar, slots: [...trial.calendar.slots, ...free] };
        const expected = startsWith(calendar, trial.search, everyFault);
        const found = await find(one);
        expect(same(found, expected) ? [] : [difference({ ...trial, calendar }, found, expected)]).toEqual([]);
      });
    },
    scaled(published * 30_000 + 60_000),
  );
});
