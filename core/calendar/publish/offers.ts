import type { Schedule } from '@medplum/fhirtypes';
import type { ArtefactConfig } from '../../config/config.ts';
import type { Interval } from '../../time/interval.ts';
import { covers, type IntervalSet, subtract, union } from '../../time/interval-set.ts';
import { DAY, instantOf, localTimeOf } from '../../time/time-zone.ts';
import { type ServiceCalendar, serviceTypeOf } from '../parameters/schedule-calendar.ts';
import { type Checked, sound } from '../problem.ts';
import { offeredSlot, type WantedSlot } from '../slots/published-slot.ts';
import { type PlacedSlot, takesFrom } from '../slots/slot-role.ts';
import { alignedStarts } from '../time/grid.ts';
import { periodInterval } from '../time/not-available.ts';
import { openIntervals } from '../time/weekly-hours.ts';

const MINUTE = 60_000;

/** The longest appointment with its buffers, in milliseconds. */
const LONGEST = 3 * DAY;

/** A place where no Slot is published. */
const NO_PLACE = 0;

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

const openOf = ({ parameters }: ServiceCalendar, period: Interval): IntervalSet =>
  openIntervals(parameters.hours, parameters.timeZone, period);

/** The time during which a place of a service is open and not taken. */
function freeTime(
  calendar: ServiceCalendar,
  period: Interval,
  slots: readonly PlacedSlot[],
  place: number,
  open: IntervalSet = openOf(calendar, period),
): IntervalSet {
  const { parameters, service } = calendar;
  const services = serviceTypeOf(service);
  const taken = slots.filter(
    ({ role, resource }) =>
      (role.kind === 'taking' && takesFrom(resource, services)) ||
      (role.kind === 'published' && role.key.place === place && resource.status !== 'entered-in-error'),
  );
  return subtract(open, union([...parameters.closed, ...taken]));
}

/**
 * The Slots that the opening hours of one service ask for: those that Medplum's `$find` would offer, at every place. An
 * appointment with its buffers lies within the opening hours and within time that nothing takes.
 *
 * @param period - `publishedPeriod`; buffers must not leave it either
 * @param from - no Slot begins earlier, and none at or after `until`
 * @param slots - the Slots that take time: takings, and published Slots that are held
 */
export function wantedSlots(
  schedule: Schedule & { readonly id: string },
  calendar: ServiceCalendar,
  period: Interval,
  { start: from, end: until }: Interval,
  slots: readonly PlacedSlot[],
  config: ArtefactConfig,
): WantedSlot[] {
  const { duration, bufferBefore, bufferAfter, alignment, capacity } = calendar.parameters;
  const length = duration * MINUTE;
  const places = Array.from({ length: capacity }, (_, index) => index + 1);
  const open = openOf(calendar, period);
  return places.flatMap((place) =>
    freeTime(calendar, period, slots, place, open)
      .flatMap(({ start, end }) => {
        const first = Math.max(start + bufferBefore * MINUTE, from);
        const last = Math.min(end - bufferAfter * MINUTE, until + length);
        return alignedStarts({ start: first, end: last }, alignment, length);
      })
      .filter((start) => start < until)
      .map((start) => offeredSlot(schedule, calendar, { start, end: start + length }, place, config)),
  );
}

/** Whether a service is still open during a period that nothing but published Slots takes. */
export function isStillOpen(interval: Interval, calendar: ServiceCalendar, slots: readonly PlacedSlot[]): boolean {
  const around = { start: interval.start - DAY, end: interval.end + DAY };
  return covers(freeTime(calendar, around, slots, NO_PLACE), interval);
}
