import type {
  CodeableConcept,
  Extension,
  HealthcareService,
  HealthcareServiceAvailableTime,
  Practitioner,
  Schedule,
  Slot,
} from '@medplum/fhirtypes';
import fc from 'fast-check';
import { SERVICE_TYPE_REFERENCE } from '../../../../core/fhir/reference.ts';
import type { Interval } from '../../../../core/time/interval.ts';
import { DAY, instantOf, localTimeOf } from '../../../../core/time/time-zone.ts';
import { firstDay, zones } from '../../../core/time/zones.ts';

const PARAMETERS = 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters';
const TIME_ZONE = 'http://hl7.org/fhir/StructureDefinition/timezone';
const MINUTE = 60_000;

const week = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

type Day = (typeof week)[number];

/** Time that a Slot takes or, if it is free, offers. */
export interface GeneratedSlot extends Interval {
  readonly status: Slot['status'];
  readonly serviceType?: CodeableConcept[];
}

/** What a calendar means, apart from how its resources say so: lengths in minutes, instants in milliseconds. */
export interface GeneratedCalendar {
  readonly timeZone: string;
  /** Minutes after midnight. */
  readonly hours: readonly { readonly days: readonly string[]; readonly start: number; readonly end: number }[];
  readonly duration: number;
  readonly bufferBefore: number;
  readonly bufferAfter: number;
  readonly interval: number;
  readonly offset: number;
  readonly alignmentTimeZone: string;
  readonly closures: readonly Interval[];
  /** Dates, both of them included. */
  readonly horizon?: { readonly start: string; readonly end: string } | undefined;
  readonly slots: readonly GeneratedSlot[];
  readonly serviceType: CodeableConcept;
}

/** A calendar, the resources by which Medplum knows it, and when appointments are looked for. */
export interface Trial {
  readonly calendar: GeneratedCalendar;
  readonly search: Interval;
  readonly service: HealthcareService;
  readonly practitioner: Practitioner;
  /** The Schedule of a practitioner for the service, both named by their ids. */
  readonly scheduleOf: (practitioner: string, service: string) => Schedule;
}

/** Nine years: the library by which Medplum 5.1.23 reckons (temporal-polyfill 0.3.2) knows no summer time after 2035. */
const days = 3280;

/** By whom a parameter is given; `both`: the Schedule overrides another value of the service. */
const place = fc.constantFrom('service', 'schedule', 'both');

/** A quarter of an hour, often one of the night, when clocks change. */
const quarter = fc.oneof(fc.integer({ min: 0, max: 95 }), fc.integer({ min: 0, max: 16 })).map((one) => one * 15);

const entry = fc.record({
  days: fc.uniqueArray(fc.constantFrom(...week), { minLength: 1 }),
  start: quarter,
  end: quarter,
});

const hours = fc.oneof(
  { weight: 12, arbitrary: fc.array(entry, { minLength: 1, maxLength: 4 }) },
  { weight: 1, arbitrary: fc.constant('always' as const) },
);

const lengths = fc.record({
  duration: fc.constantFrom(5, 10, 20, 30, 45, 60, 90, 240, 1440),
  bufferBefore: fc.constantFrom(0, 0, 5, 15),
  bufferAfter: fc.constantFrom(0, 0, 10, 30),
  interval: fc.constantFrom(0, 10, 15, 20, 30, 45, 60, 90, 120, 1440),
  offset: fc.constantFrom(0, 0, 5, 15, 70),
});

const minutesAfter = fc.record({
  from: fc.integer({ min: -300, max: 4000 }),
  length: fc.integer({ min: 1, max: 600 }),
});

const slot = fc.record({
  time: minutesAfter,
  status: fc.constantFrom('busy', 'busy', 'busy-tentative', 'busy-unavailable', 'busy-unavailable', 'free'),
  of: fc.constantFrom('own', 'other', 'any'),
});

const choices = fc.record({
  hours,
  hoursBy: fc.constantFrom('service', 'schedule'),
  lengths,
  places: fc.record({ lengths: place, alignment: place, timeZone: fc.constantFrom('actor', 'service', 'schedule') }),
  alignmentTimeZone: fc.constantFrom(undefined, 'own' as const, 'own' as const, ...zones.slice(0, 3)),
  closures: fc.array(minutesAfter, { maxLength: 1 }),
  horizon: fc.option(fc.record({ before: fc.integer({ min: -1, max: 2 }), length: fc.integer({ min: 1, max: 4 }) }), {
    nil: undefined,
    freq: 3,
  }),
  slots: fc.array(slot, { maxLength: 4 }),
  search: fc.record({ from: fc.constantFrom(0, 0, 45, 180, 600), length: fc.integer({ min: 120, max: 4000 }) }),
});

type Choices = typeof choices extends fc.Arbitrary<infer T> ? T : never;

/** Local midnights of the days on which the clocks change, and of the days before. */
function changesOf(timeZone: string): number[] {
  return Array.from({ length: days }, (_, day) => firstDay + day * DAY)
    .filter((day) => localTimeOf(timeZone, day) - day !== localTimeOf(timeZone, day + DAY) - day - DAY)
    .flatMap((day) => [instantOf(timeZone, day - DAY), instantOf(timeZone, day)]);
}

/** A midnight in nine years and a dozen time zones, every second one around a change of the clocks. */
const anyMidnight = fc.constantFrom(...zones).chain((timeZone) => {
  const changes = changesOf(timeZone);
  const any = fc.integer({ min: 0, max: days }).map((day) => instantOf(timeZone, firstDay + day * DAY));
  const midnight = changes.length > 0 ? fc.oneof(any, fc.constantFrom(...changes)) : any;
  return fc.record({ timeZone: fc.constant(timeZone), midnight });
});

/** A midnight that is soon published. */
const nearMidnight = fc.record({
  timeZone: fc.constantFrom(...zones),
  midnight: fc.integer({ min: 7, max: 60 }).map((day) => Math.floor(Date.now() / DAY) * DAY + day * DAY),
});

const minutes = (url: string, value: number): Extension => ({
  url,
  valueDuration: value > 0 && value % 60 === 0 ? { value: value / 60, unit: 'h' } : { value, unit: 'min' },
});

const code = (url: string, valueCode: string): Extension => ({ url, valueCode });

const clock = (time: number): string =>
  `${String(Math.floor(time / 60)).padStart(2, '0')}:${String(time % 60).padStart(2, '0')}:00`;

const instant = (time: number): string => new Date(time).toISOString();

const after = (midnight: number, { from, length }: { from: number; length: number }): Interval => ({
  start: midnight + from * MINUTE,
  end: midnight + (from + length) * MINUTE,
});

const dateOf = (local: number): string => new Date(local).toISOString().slice(0, 10);

/** What the service and the Schedule say, where one overrides the other. */
function layered(given: readonly Extension[], by: string, wrong: readonly Extension[]) {
  return {
    service: by === 'service' ? given : by === 'both' ? wrong : [],
    schedule: by === 'service' ? [] : given,
  };
}

/** What Medplum is told of the hours: of a Schedule that has some, those of the service do not count. */
function hoursIn({ hours, hoursBy, closures }: Choices, midnight: number) {
  const listed = hours === 'always' ? [] : hours;
  const closed = closures
    .map((one) => after(midnight, one))
    .map(({ start, end }) => ({ start: instant(start), end: instant(end) }));
  const availableTime = listed.map(({ days: daysOfWeek, start, end }): HealthcareServiceAvailableTime => {
    return { daysOfWeek, availableStartTime: clock(start), availableEndTime: clock(end) };
  });
  const times = listed.map(
    ({ days: open, start, end }): Extension => ({
      url: 'availableTime',
      extension: [
        ...open.map((day: Day) => code('daysOfWeek', day)),
        { url: 'availableStartTime', valueTime: clock(start) },
        { url: 'availableEndTime', valueTime: clock(end) },
      ],
    }),
  );
  const notAvailableTime = closed.map(
    (valuePeriod): Extension => ({
      url: 'notAvailableTime',
      extension: [{ url: 'during', valuePeriod }],
    }),
  );
  const isOfSchedule = hoursBy === 'schedule' && hours !== 'always';
  return isOfSchedule
    ? { service: {}, schedule: [{ url: 'availability', extension: [...times, ...notAvailableTime] }] }
    : {
        service: {
          ...(hours !== 'always' && { availableTime }),
          notAvailable: closed.map((during) => ({ description: 'Closed', during })),
        },
        schedule: [],
      };
}

function trialOf(chosen: Choices, { timeZone, midnight }: { timeZone: string; midnight: number }, id: string): Trial {
  const { lengths: length, places, horizon: planned } = chosen;
  const alignmentTimeZone = chosen.alignmentTimeZone === 'own' ? timeZone : chosen.alignmentTimeZone;
  const serviceType = { coding: [{ system: 'urn:services', code: id }] };
  const other = { coding: [{ system: 'urn:services', code: `${id}-other` }] };
  const types = { own: [serviceType], other: [other], any: undefined };
  const slots = chosen.slots.map(({ time, status, of }): GeneratedSlot => {
    return { ...after(midnight, time), status, ...(types[of] && { serviceType: types[of] }) };
  });
  const times = layered(
    [
      minutes('duration', length.duration),
      minutes('bufferBefore', length.bufferBefore),
      minutes('bufferAfter', length.bufferAfter),
    ],
    places.lengths,
    [minutes('duration', 25), minutes('bufferBefore', 20), minutes('bufferAfter', 20)],
  );
  const grid = layered(
    [
      minutes('alignmentInterval', length.interval),
      minutes('alignmentOffset', length.offset),
      ...(alignmentTimeZone ? [code('alignmentTimezone', alignmentTimeZone)] : []),
    ],
    places.alignment,
    [minutes('alignmentInterval', 40), minutes('alignmentOffset', 7)],
  );
  const zone = (where: string): Extension[] => (places.timeZone === where ? [code('timezone', timeZone)] : []);
  const ofService = [...times.service, ...grid.service, ...zone('service')];
  const said = hoursIn(chosen, midnight);
  const today = localTimeOf(timeZone, midnight);
  const horizon = planned && {
    start: dateOf(today - planned.before * DAY),
    end: dateOf(today + (planned.length - planned.before) * DAY),
  };
  return {
    search: after(midnight, chosen.search),
    calendar: {
      timeZone,
      hours: chosen.hours === 'always' ? [{ days: week, start: 0, end: 0 }] : chosen.hours,
      ...length,
      interval: length.interval || 60,
      alignmentTimeZone: alignmentTimeZone ?? 'Etc/UTC',
      closures: chosen.closures.map((one) => after(midnight, one)),
      horizon,
      slots,
      serviceType,
    },
    practitioner: {
      resourceType: 'Practitioner',
      name: [{ family: `Find ${id}` }],
      ...(places.timeZone === 'actor' && { extension: [code(TIME_ZONE, timeZone)] }),
    },
    service: {
      resourceType: 'HealthcareService',
      active: true,
      name: `Find ${id}`,
      type: [serviceType],
      ...said.service,
      ...(ofService.length > 0 && { extension: [{ url: PARAMETERS, extension: ofService }] }),
    },
    scheduleOf: (practitioner, service) => {
      const valueReference = { reference: `HealthcareService/${service}` };
      const own = [...times.schedule, ...grid.schedule, ...zone('schedule'), ...said.schedule];
      return {
        resourceType: 'Schedule',
        active: true,
        actor: [{ reference: `Practitioner/${practitioner}` }],
        serviceType: [{ ...serviceType, extension: [{ url: SERVICE_TYPE_REFERENCE, valueReference }] }],
        ...(horizon && { planningHorizon: horizon }),
        ...(own.length > 0 && {
          extension: [{ url: PARAMETERS, extension: [{ url: 'service', valueReference }, ...own] }],
        }),
      };
    },
  };
}

/**
 * Calendars at random, the same for the same seed.
 *
 * @param prefix - of the codes of their services, so that those of several runs differ
 */
export function trials(seed: number, count: number, prefix: string): Trial[] {
  const some = fc.sample(fc.tuple(choices, anyMidnight), { seed, numRuns: count });
  return some.map(([chosen, when], index) => trialOf(chosen, when, `${prefix}-${index}`));
}

/** The same for days that the installation publishes by itself: their horizon is short, and nothing on them is free by hand. */
export function publishedTrials(seed: number, count: number, prefix: string): Trial[] {
  const some = fc.sample(fc.tuple(choices, nearMidnight), { seed, numRuns: count });
  return some.map(([chosen, { timeZone, midnight }], index) => {
    const slots = chosen.slots.filter(({ status }) => status !== 'free');
    const horizon = chosen.horizon ?? { before: 0, length: 2 };
    const when = { timeZone, midnight: instantOf(timeZone, midnight) };
    return trialOf({ ...chosen, slots, horizon }, when, `${prefix}-${index}`);
  });
}
