import { describe, expect, it } from '@jest/globals';
import type { Extension, Slot } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { publishedPeriod } from '../../../core/calendar/publish/offers.ts';
import { openIntervals } from '../../../core/calendar/time/weekly-hours.ts';
import { DAY, instantOf, localTimeOf } from '../../../core/time/time-zone.ts';
import { days, firstDay, zones } from '../time/zones.ts';
import { minutesIn, openByTemporal, type ReferenceCalendar, startsByBruteForce } from './reference.ts';
import { calendar, code, minutes, publish, service, slot, stateOf } from './support.ts';

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

  it('last 23 and 25 hours when the clocks change', () => {
    const allDay = [{ days: [0, 1, 2, 3, 4, 5, 6], start: 0, end: 0 }];
    const lengthOf = (date: string): number => {
      const start = Temporal.PlainDate.from(date).toZonedDateTime('Europe/Berlin').epochMilliseconds;
      const end = Temporal.PlainDate.from(date).add({ days: 1 }).toZonedDateTime('Europe/Berlin').epochMilliseconds;
      return openIntervals(allDay, 'Europe/Berlin', { start, end }).reduce((sum, one) => sum + one.end - one.start, 0);
    };
    expect(['2027-03-28', '2027-10-31', '2027-11-01'].map((date) => lengthOf(date) / 3_600_000)).toEqual([23, 25, 24]);
  });

  it('over midnight are open in the morning too, also when only the morning is asked for', () => {
    const night = [{ days: [1], start: 22 * 3_600_000, end: 2 * 3_600_000 }];
    const tuesday = { start: Date.parse('2027-01-05T00:00:00+01:00'), end: Date.parse('2027-01-06T00:00:00+01:00') };
    expect(openIntervals(night, 'Europe/Berlin', tuesday)).toEqual([
      { start: tuesday.start, end: Date.parse('2027-01-05T02:00:00+01:00') },
    ]);
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
