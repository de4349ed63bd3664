import type { Schedule } from '@medplum/fhirtypes';
import type { ArtefactConfig } from '../../config/config.ts';
import type { Interval } from '../../time/interval.ts';
import { subtract, union } from '../../time/interval-set.ts';
import { DAY, instantOf, localTimeOf } from '../../time/time-zone.ts';
import type { ServiceCalendar } from '../parameters/schedule-calendar.ts';
import { type Checked, sound } from '../problem.ts';
import { alignedStarts } from '../time/grid.ts';
import { periodInterval } from '../time/not-available.ts';
import { openIntervals } from '../time/weekly-hours.ts';
import { offeredSlot, type WantedSlot } from './wanted-slot.ts';

const MINUTE = 60_000;

/** The longest appointment with its buffers, in milliseconds. */
const LONGEST = 3 * DAY;

/** How far ahead a Schedule is published at most, whatever its planning horizon: two years, in milliseconds. */
export const FURTHEST = 2 * 366 * DAY;

/**
 * The period for which a Schedule is published: its planning horizon, else a number of weeks from now, up to the end of
 * a day in its time zone. It begins in the past, so that opening hours that have already begun are complete.
 */
export function publishedPeriod(
  { planningHorizon }: Schedule,
  timeZone: string,
  now: number,
  horizonWeeks: number,
): Checked<Interval> {
  const endOfDay = (time: number): number =>
    instantOf(timeZone, (Math.floor(localTimeOf(timeZone, time) / DAY) + 1) * DAY);
  const rolling = { start: now - LONGEST, end: endOfDay(now + horizonWeeks * 7 * DAY) };
  if (!planningHorizon?.start && !planningHorizon?.end) {
    return sound(rolling);
  }
  const { value, problems } = periodInterval(planningHorizon, timeZone, 'Schedule.planningHorizon');
  return value
    ? sound({
        start: Math.max(rolling.start, value.start),
        end: planningHorizon.end ? Math.min(value.end, endOfDay(now + FURTHEST)) : rolling.end,
      })
    : { value, problems };
}

/**
 * The Slots that the opening hours of one service ask for, at every place, whatever takes their time: an appointment with
 * its buffers lies within the opening hours, as Medplum's `$find` demands.
 *
 * @param period - `publishedPeriod`; buffers must not leave it either
 * @param from - no Slot begins earlier, and none at or after `until`
 */
export function wantedSlots(
  schedule: Schedule & { readonly id: string },
  calendar: ServiceCalendar,
  period: Interval,
  { start: from, end: until }: Interval,
  config: ArtefactConfig,
): WantedSlot[] {
  const { duration, bufferBefore, bufferAfter, alignment, capacity, hours, timeZone, closed } = calendar.parameters;
  const length = duration * MINUTE;
  const open = subtract(openIntervals(hours, timeZone, period), union(closed));
  const starts = open
    .flatMap(({ start, end }) => {
      const first = Math.max(start + bufferBefore * MINUTE, from);
      const last = Math.min(end - bufferAfter * MINUTE, until + length);
      return alignedStarts({ start: first, end: last }, alignment, length);
    })
    .filter((start) => start < until);
  const places = Array.from({ length: capacity }, (_, index) => index + 1);
  return places.flatMap((place) =>
    starts.map((start) => offeredSlot(schedule, calendar, { start, end: start + length }, place, config)),
  );
}
