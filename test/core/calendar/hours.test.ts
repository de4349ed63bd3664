import { describe, expect, it } from '@jest/globals';
import type {
  Extension,
  HealthcareService,
  HealthcareServiceAvailableTime,
  Practitioner,
  Schedule,
  Slot,
} from '@medplum/fhirtypes';
import fc from 'fast-check';
import { checkOpeningHours } from '../../../core/calendar/parameters/check-opening-hours.ts';
import { publishingOf } from '../../../core/calendar/parameters/schedule-calendar.ts';
import { schedulingParameters } from '../../../core/calendar/parameters/scheduling-parameters.ts';
import { publishedPeriod } from '../../../core/calendar/publish/bookable-slots.ts';
import { windowsFrom } from '../../../core/calendar/publish/publication.ts';
import { openIntervals } from '../../../core/calendar/time/weekly-hours.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { DAY, instantOf, localTimeOf } from '../../../core/time/time-zone.ts';
import { told } from '../../lib/told.ts';
import { days, firstDay, zones } from '../time/zones.ts';
import { minutesIn, openByTemporal, type ReferenceCalendar, startsByBruteForce } from './reference.ts';
import {
  actor,
  calendar,
  code,
  config,
  minutes,
  monday,
  PARAMETERS,
  publish,
  scheduleOf,
  service,
  slot,
  stateOf,
  visit,
} from './support.ts';

const names = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

const clock = (time: number): string =>
  `${String(Math.floor(time / 60)).padStart(2, '0')}:${String(time % 60).padStart(2, '0')}:00`;

const quarter = fc.integer({ min: 0, max: 95 }).map((one) => one * 15);

const hours = fc.record({
  days: fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
  start: quarter,
  end: quarter,
});

/** Local midnights of the days on which the clocks change, and of the days before. */
function changesOf(timeZone: string): number[] {
  return Array.from({ length: days }, (_, day) => firstDay + day * DAY)
    .filter((day) => localTimeOf(timeZone, day) - day !== localTimeOf(timeZone, day + DAY) - day - DAY)
    .flatMap((day) => [instantOf(timeZone, day - DAY), instantOf(timeZone, day)]);
}

const changesByZone = new Map(zones.map((timeZone) => [timeZone, changesOf(timeZone)]));

/** A midnight, every second time one around which the clocks change. */
const zoned = fc.constantFrom(...zones).chain((timeZone) => {
  const changes = changesByZone.get(timeZone) ?? [];
  const any = fc.integer({ min: 0, max: days }).map((day) => instantOf(timeZone, firstDay + day * DAY));
  const midnight = changes.length > 0 ? fc.oneof(any, fc.constantFrom(...changes)) : any;
  return fc.record({ timeZone: fc.constant(timeZone), midnight });
});

const calendars = fc.record({
  hours: fc.array(hours, { minLength: 1, maxLength: 4 }),
  duration: fc.constantFrom(5, 10, 20, 30, 45, 60, 90),
  bufferBefore: fc.constantFrom(0, 0, 5, 15),
  bufferAfter: fc.constantFrom(0, 0, 10, 30),
  interval: fc.constantFrom(5, 10, 15, 20, 30, 45, 60, 90, 120),
  offset: fc.constantFrom(0, 0, 5, 15, 70),
  alignmentTimeZone: fc.constantFrom('Etc/UTC', ...zones),
});

const takings = fc.array(
  fc.record({ start: fc.integer({ min: -60, max: 1500 }), length: fc.integer({ min: 1, max: 300 }) }),
  { maxLength: 4 },
);

/** Free Slots are published for a calendar that Medplum would read like the reference. */
function publishedStarts({ timeZone, ...reference }: ReferenceCalendar, taken: readonly Slot[], now: number): number[] {
  const parameters: Extension[] = [
    minutes('duration', reference.duration),
    minutes('bufferBefore', reference.bufferBefore),
    minutes('bufferAfter', reference.bufferAfter),
    minutes('alignmentInterval', reference.interval),
    minutes('alignmentOffset', reference.offset),
    code('alignmentTimezone', reference.alignmentTimeZone),
    code('timezone', timeZone),
  ];
  const availableTime = reference.hours.map(({ days: open, start, end }) => ({
    daysOfWeek: open.map((day) => names[day - 1] ?? 'mon'),
    availableStartTime: clock(start),
    availableEndTime: clock(end),
  }));
  const slots = publish(stateOf(taken, { now }, [service(parameters, { availableTime })]));
  return slots
    .filter(({ status }) => status === 'free')
    .map(({ start }) => Date.parse(start))
    .sort((a, b) => a - b);
}

describe('opening hours', () => {
  it('are open at the same local times when the clocks change', () => {
    fc.assert(
      fc.property(zoned, fc.array(hours, { maxLength: 4 }), ({ timeZone, midnight }, weekly) => {
        const window = { start: midnight, end: midnight + 9 * DAY };
        const read = weekly.map(({ days: open, start, end }) => ({
          days: open.map((day) => day % 7),
          start: start * 60_000,
          end: end * 60_000,
        }));
        const expected = openByTemporal({ timeZone, hours: weekly }, window.start, window.end);
        const found = openIntervals(read, timeZone, window).map((interval) => ({ ...interval }));
        const both = [found, expected].map((intervals) => minutesIn(intervals, window.start, window.end).join(''));
        expect(both[0] === both[1]).toBe(true);
      }),
      { numRuns: 400 },
    );
  });
});

describe('offers', () => {
  it("are exactly those that fit, tried out minute by minute: $find's, in any time zone and through any change of clocks", () => {
    fc.assert(
      fc.property(zoned, calendars, takings, ({ timeZone, midnight }, reference, taken) => {
        const to = publishedPeriod(calendar, timeZone, midnight, 0).value?.end ?? midnight;
        const stretches = taken.map(({ start, length }) => ({
          start: midnight + start * 60_000,
          end: midnight + (start + length) * 60_000,
        }));
        const slots = stretches.map(({ start, end }, index) =>
          slot(`taken-${index}`, '09:00', '10:00', 'busy', {
            start: new Date(start).toISOString(),
            end: new Date(end).toISOString(),
          }),
        );
        const full: ReferenceCalendar = { timeZone, ...reference };
        const expected = startsByBruteForce(full, stretches, midnight - DAY / 4, to).filter(
          (start) => start >= midnight,
        );
        expect(publishedStarts(full, slots, midnight)).toEqual(expected);
      }),
      { numRuns: 150 },
    );
  });
});

const dense = (interval: number, places: number): HealthcareService & { readonly id: string } => ({
  ...service([minutes('alignmentInterval', interval), { url: 'slotCapacity', valuePositiveInt: places }]),
});

const problems = (holder: HealthcareService | Schedule): string[] => told(checkOpeningHours(holder, config));

const publishing = (...services: (HealthcareService & { readonly id: string })[]) =>
  publishingOf({ schedule: scheduleOf(services), services, actor }, config);

const time: HealthcareServiceAvailableTime = {
  daysOfWeek: ['mon'],
  availableStartTime: '09:00:00',
  availableEndTime: '10:00:00',
};

const closure = { description: 'Closed', during: { start: '2027-01-01', end: '2027-01-02' } };

describe('opening hours that would take too long to publish', () => {
  it.each([
    ['2,880 slots a day', dense(5, 10), []],
    ['144,000 slots a day', dense(1, 100), ['slots-too-many HealthcareService.extension[0]']],
    ['200 entries of opening hours', { ...service(), availableTime: Array(200).fill(time) }, []],
    [
      '201 entries of opening hours',
      { ...service(), availableTime: Array(201).fill(time) },
      ['hours-invalid HealthcareService.availableTime'],
    ],
    ['1,000 closures', { ...service(), notAvailable: Array(1000).fill(closure) }, []],
    [
      '1,001 closures',
      { ...service(), notAvailable: Array(1001).fill(closure) },
      ['hours-invalid HealthcareService.notAvailable'],
    ],
  ])('%s', (_, holder, expected) => {
    expect(problems(holder)).toEqual(expected);
    expect(publishing(holder).kind).toBe(expected.length > 0 ? 'kept' : 'on');
  });

  it('a service may be closed for good; closed days end, or no Schedule would be published any more', () => {
    const forGood = { ...service(), notAvailable: [{ description: 'x', during: { start: '2027-01-01' } }] };
    expect(problems(forGood)).toEqual([]);
    const identifier = [{ system: artefactUri(config, 'LocalClosedDays') }];
    const all = { ...forGood, identifier };
    expect(problems(all)).toEqual(['period-invalid HealthcareService.notAvailable[0].during']);
  });
});

it.each([
  ['a usual one', dense(15, 1), 14],
  ['one with many places', dense(15, 5), 3],
  ['the densest', dense(5, 10), 1],
])('the more slots a calendar has, the less of it is published at once: %s', (_, holder, days) => {
  const windows = windowsFrom(monday, monday + 84 * DAY, publishing(holder));
  expect(Math.max(...windows.map(({ start, end }) => end - start))).toBe(days * DAY);
  expect(windows[0]?.start).toBe(monday);
  expect(windows.slice(1).every(({ start }, index) => start === windows[index]?.end)).toBe(true);
});

const ofVisit: Extension = { url: 'service', valueReference: { reference: 'HealthcareService/visit' } };

/** A Schedule with parameters of its own for the service. */
const scheduleWith = (...extension: Extension[]): Schedule =>
  scheduleOf([visit], { extension: [{ url: PARAMETERS, extension: [ofVisit, ...extension] }] });

const schedule = scheduleOf([visit]);

const read = (from: Schedule, of: HealthcareService = visit, whose: Practitioner = actor) =>
  schedulingParameters(from, of, whose, 'Europe/Vienna');

/** The problems as `code expression`. */
const problemsOf = (...args: Parameters<typeof read>): string[] =>
  read(...args).problems.map(({ code: kind, expression }) => `${kind} ${expression}`);

const serviceParameters = `HealthcareService/visit.extension('${PARAMETERS}')`;

describe('scheduling parameters', () => {
  it('come from the Schedule where it has them, field by field', () => {
    const own = scheduleWith(minutes('duration', 45), code('timezone', 'Asia/Tokyo'), {
      url: 'availability',
      extension: [
        {
          url: 'availableTime',
          extension: [code('daysOfWeek', 'tue'), code('daysOfWeek', 'sun'), { url: 'allDay', valueBoolean: true }],
        },
      ],
    });
    expect(read(own).value).toMatchObject({
      duration: 45,
      timeZone: 'Asia/Tokyo',
      hours: [{ days: [2, 0], start: 0, end: 0 }],
      alignment: { interval: 30 },
    });
  });

  it('without hours are always open, with an empty list never', () => {
    const { availableTime: _, ...always } = visit;
    expect(read(schedule, always).value?.hours).toEqual([{ days: [0, 1, 2, 3, 4, 5, 6], start: 0, end: 0 }]);
    expect(read(schedule, { ...visit, availableTime: [] }).value?.hours).toEqual([]);
  });

  it('close on the days that Schedule and service name, whole days of the time zone', () => {
    const away = scheduleWith({
      url: 'availability',
      extension: [
        {
          url: 'notAvailableTime',
          extension: [
            { url: 'description', valueString: 'Congress' },
            { url: 'during', valuePeriod: { start: '2027-03-01T12:00:00+01:00', end: '2027-03-02' } },
          ],
        },
      ],
    });
    const holidays = {
      ...visit,
      notAvailable: [{ description: 'Easter', during: { start: '2027-03-28', end: '2027-03-29' } }],
    };
    expect(read(away, holidays).value?.closed).toEqual([
      { start: Date.parse('2027-03-01T12:00:00+01:00'), end: Date.parse('2027-03-03T00:00:00+01:00') },
      { start: Date.parse('2027-03-28T00:00:00+01:00'), end: Date.parse('2027-03-30T00:00:00+02:00') },
    ]);
  });

  const duration = (value: number, unit: string, more: object = {}) =>
    service([{ url: 'duration', valueDuration: { value, unit, ...more } as never }]);
  const at = (problem: string, name: string, rest = '.value') =>
    `${problem} ${serviceParameters}.extension('${name}')${rest}`;
  const length = at('duration-invalid', 'duration');
  const grid = at('alignment-invalid', 'alignmentInterval');
  const open = (more: object): HealthcareService => ({ ...visit, availableTime: [{ daysOfWeek: ['mon'], ...more }] });
  const closed = (during: object): HealthcareService => ({ ...visit, notAvailable: [{ description: 'x', during }] });
  it.each<[string, HealthcareService, string, Schedule?]>([
    ['no duration', { ...visit, extension: [] }, 'duration-missing HealthcareService/visit.extension'],
    ['a duration of nothing', service([minutes('duration', 0)]), length],
    ['a duration of 100 years', duration(5200, 'wk'), length],
    ['a duration in months', duration(1, 'mo'), length],
    ['about half an hour', duration(30, 'min', { comparator: '<' }), length],
    ['half a minute', service([minutes('bufferAfter', 0.5)]), at('duration-invalid', 'bufferAfter')],
    ['less than nothing', service([minutes('bufferBefore', -5)]), at('duration-invalid', 'bufferBefore')],
    [
      'an unknown time zone',
      visit,
      "time-zone-unknown Schedule.extension[0].extension('timezone').value",
      scheduleWith(code('timezone', 'Europe/Atlantis')),
    ],
    ['an interval that makes no day', service([minutes('alignmentInterval', 50)]), grid],
    ['an interval of two days', service([minutes('alignmentInterval', 2880)]), grid],
    ['no place', service([{ url: 'slotCapacity', valuePositiveInt: 0 }]), at('capacity-invalid', 'slotCapacity')],
    [
      'two durations',
      service([minutes('duration', 30), minutes('duration', 40)]),
      at('parameters-contradictory', 'duration', '[0]'),
    ],
    ['hours of its own', service([{ url: 'availability' }]), at('parameters-contradictory', 'availability', '')],
    [
      'a start without an end',
      open({ availableStartTime: '09:00:00' }),
      'hours-invalid HealthcareService/visit.availableTime[0]',
    ],
    [
      'all day from nine',
      open({ allDay: true, availableStartTime: '09:00:00' }),
      'parameters-contradictory HealthcareService/visit.availableTime[0]',
    ],
    [
      'twenty-five o’clock',
      open({ availableStartTime: '09:00:00', availableEndTime: '25:00:00' }),
      'hours-invalid HealthcareService/visit.availableTime[0]',
    ],
    [
      'an end before the start',
      closed({ start: '2027-02-02', end: '2027-02-01' }),
      'period-invalid HealthcareService/visit.notAvailable[0].during',
    ],
    [
      'a day that does not exist',
      closed({ start: '2027-02-30' }),
      'period-invalid HealthcareService/visit.notAvailable[0].during.start',
    ],
    ['several at once', service([minutes('duration', 0), minutes('alignmentInterval', 7)]), `${length}, ${grid}`],
  ])('are not usable with %s', (_, of, expected, from = schedule) => {
    expect(problemsOf(from, of).join(', ')).toBe(expected);
    expect(read(from, of).value).toBeUndefined();
  });

  it('are in the time zone of the clinic if neither they nor the actor name one', () => {
    expect(read(schedule, visit, { resourceType: 'Practitioner', id: 'ada' }).value?.timeZone).toBe('Europe/Vienna');
  });
});
