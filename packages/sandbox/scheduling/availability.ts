import { getExtension, isDefined, SchedulingSlotCapacityURI } from '@medplum/core';
import type { CodeableConcept, Slot } from '@medplum/fhirtypes';
import { Temporal } from 'temporal-polyfill';
import type { Platform } from '../platform.ts';
import type { SchedulingParameters } from './parameters.ts';

/** Milliseconds since 1970 UTC; the end is exclusive. */
export interface Interval {
  readonly start: number;
  readonly end: number;
}

export const MINUTE = 60_000;
const days = ['', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

function* daysOf({ start, end }: Interval, zone: string): Iterable<Temporal.ZonedDateTime> {
  let day = Temporal.Instant.fromEpochMilliseconds(start).toZonedDateTimeISO(zone).startOfDay();
  while (day.epochMilliseconds < end) {
    yield day;
    day = day.add({ days: 1 });
  }
}

/** The overlap of two intervals; `undefined` if they have none. */
export function common(interval: Interval, other: Interval): Interval | undefined {
  const [start, end] = [Math.max(interval.start, other.start), Math.min(interval.end, other.end)];
  return start < end ? { start, end } : undefined;
}

function joined(intervals: readonly Interval[]): Interval[] {
  const result: Interval[] = [];
  for (const { start, end } of [...intervals].sort((a, b) => a.start - b.start)) {
    const last = result.at(-1);
    if (last && start <= last.end) {
      result[result.length - 1] = { start: last.start, end: Math.max(last.end, end) };
    } else {
      result.push({ start, end });
    }
  }
  return result;
}

function without(open: readonly Interval[], taken: readonly Interval[]): Interval[] {
  return taken.reduce<Interval[]>(
    (left, { start, end }) =>
      left.flatMap((interval) =>
        start < interval.end && interval.start < end
          ? [
              { start: interval.start, end: start },
              { start: end, end: interval.end },
            ].filter((rest) => rest.start < rest.end)
          : [interval],
      ),
    [...open],
  );
}

/** Opening hours from the first day of the range on. Hours past midnight that began on the day before are ignored. */
function openTime({ hours, timezone }: SchedulingParameters, range: Interval): Interval[] {
  return [...daysOf(range, timezone)].flatMap((day) =>
    hours
      .filter((one) => one.days.includes(days[day.dayOfWeek] ?? ''))
      .map((one) => {
        const start = day.withPlainTime(one.start);
        const sameDay = day.withPlainTime(one.end);
        const end = sameDay.epochMilliseconds <= start.epochMilliseconds ? sameDay.add({ days: 1 }) : sameDay;
        return common({ start: start.epochMilliseconds, end: end.epochMilliseconds }, range);
      })
      .filter(isDefined),
  );
}

export const intervalOf = ({ start, end }: Slot): Interval => ({ start: Date.parse(start), end: Date.parse(end) });

function isForService({ serviceType = [] }: Slot, wanted: readonly CodeableConcept[]): boolean {
  const codes = new Set(wanted.flatMap(({ coding = [] }) => coding.map(({ system, code }) => `${system}|${code}`)));
  return (
    serviceType.length === 0 ||
    serviceType.some(({ coding = [] }) => coding.some(({ system, code }) => codes.has(`${system}|${code}`)))
  );
}

/** Number of appointments that may overlap a Slot; default 1. */
const capacityOf = (slot: Slot): number => getExtension(slot, SchedulingSlotCapacityURI)?.valuePositiveInt ?? 1;

/** Adds its capacity to a Slot. Buffers do not get one and block their time alone. */
export function stamped({ extension = [], ...slot }: Slot, capacity: number): Slot {
  const others = extension.filter(({ url }) => url !== SchedulingSlotCapacityURI);
  const isStamped = capacity > 1 && slot.status !== 'busy-unavailable';
  const extensions = isStamped ? [...others, { url: SchedulingSlotCapacityURI, valuePositiveInt: capacity }] : others;
  return extensions.length > 0 ? { ...slot, extension: extensions } : slot;
}

/**
 * The time in which the number of overlapping busy Slots has reached the lowest capacity among them, or the given one.
 */
export function crowdedTime(slots: readonly Slot[], capacity: number): Interval[] {
  const taken = slots.filter(({ status }) => status.startsWith('busy'));
  const moments = [...new Set(taken.map(intervalOf).flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  return moments.slice(1).flatMap((end, index) => {
    const start = moments[index] ?? end;
    const over = taken.filter((slot) => common(intervalOf(slot), { start, end }));
    return over.length >= Math.min(capacity, ...over.map(capacityOf)) ? [{ start, end }] : [];
  });
}

/**
 * The bookable time of a service: its opening hours and free Slots, minus the busy time.
 *
 * @param slots - of the Schedule, all that overlap the range
 * @param capacity - number of appointments that may overlap
 */
export function availableTime(
  parameters: SchedulingParameters,
  slots: readonly Slot[],
  range: Interval,
  serviceType: readonly CodeableConcept[] = [],
  scheduling: Platform['scheduling'] = '5.1.23',
  capacity = 1,
): Interval[] {
  const isOld = scheduling === '5.1.23';
  const free = slots.filter((slot) => slot.status === 'free' && isForService(slot, serviceType));
  const taken = slots.filter((slot) => isOld || isForService(slot, serviceType));
  const open = [
    ...openTime(parameters, range),
    ...free.map((slot) => common(intervalOf(slot), range)).filter(isDefined),
  ];
  return without(joined(open), joined(crowdedTime(taken, isOld ? 1 : capacity)));
}

/** The intersection of all lists. */
export function inAll(lists: readonly (readonly Interval[])[]): Interval[] {
  const [first = [], ...others] = lists;
  return others.reduce<Interval[]>(
    (left, list) => left.flatMap((interval) => list.map((other) => common(interval, other)).filter(isDefined)),
    [...first],
  );
}

type Grid = Pick<SchedulingParameters, 'alignmentInterval' | 'alignmentOffset' | 'alignmentTimezone'>;

/** The minutes from a given time to the next time on the grid, which restarts at each midnight. */
function minutesToGrid(time: number, { alignmentInterval, alignmentOffset, alignmentTimezone }: Grid): number {
  const { hour, minute } = Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(alignmentTimezone);
  const beyond = (hour * 60 + minute - alignmentOffset) % alignmentInterval;
  return beyond === 0 ? 0 : alignmentInterval - (beyond < 0 ? beyond + alignmentInterval : beyond);
}

/** Whether an appointment may begin at this moment. */
export function isAligned(time: number, grid: Grid): boolean {
  return time % MINUTE === 0 && minutesToGrid(time, grid) === 0;
}

/** The intervals of a given duration that fit into an interval and begin on the grid, in order. */
export function* alignedTimes(interval: Interval, grid: Grid, duration: number): Iterable<Interval> {
  for (const day of daysOf(interval, grid.alignmentTimezone)) {
    const within = common(interval, { start: day.epochMilliseconds, end: day.add({ days: 1 }).epochMilliseconds });
    const first = Math.ceil((within?.start ?? 0) / MINUTE) * MINUTE;
    let start = first + minutesToGrid(first, grid) * MINUTE;
    while (within && start < within.end && start + duration * MINUTE <= interval.end) {
      yield { start, end: start + duration * MINUTE };
      start += grid.alignmentInterval * MINUTE;
    }
  }
}
