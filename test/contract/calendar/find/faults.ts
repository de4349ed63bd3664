import type { CodeableConcept } from '@medplum/fhirtypes';
import { Temporal } from 'temporal-polyfill';
import { type Interval, intersect, subtract, union } from '../../../../core/time/interval.ts';
import type { GeneratedCalendar, GeneratedSlot } from './calendars.ts';

/**
 * What Medplum's `$find` does otherwise than the service that publishes, each with the reason.
 */
export const faults = {
  'over-midnight': 'Hours that began on the day before the search are lost',
  'closures-ignored': 'It offers time that notAvailable and notAvailableTime close',
  'free-slots-added': 'Free Slots open a calendar outside its opening hours',
  'every-block-counts': 'A block for another service blocks this one, too',
  'horizon-in-utc': 'The dates of a planning horizon begin at midnight of UTC, and the last one is left out',
  'hours-over-a-change': 'Around the hour that the clocks skip, hours last a day longer, or are lost',
  'grid-over-a-change': 'Times after a change of the clocks are counted on, not aligned to what the clocks show',
} as const;

export type Fault = keyof typeof faults;

export const everyFault = Object.keys(faults) as Fault[];

const MINUTE = 60_000;

const dayNames = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

const at = (time: number, zone: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(zone);

const plainTime = (minutes: number) => new Temporal.PlainTime(Math.floor(minutes / 60), minutes % 60);

/** The midnights of the days that a period touches. */
function* daysOf({ start, end }: Interval, zone: string): Generator<Temporal.ZonedDateTime> {
  for (let day = at(start, zone).withPlainTime({ hour: 0 }); day.epochMilliseconds < end; day = day.add({ days: 1 })) {
    yield day;
  }
}

/** The same, however the clocks change at midnight. */
function* datesOf({ start, end }: Interval, zone: string): Generator<Temporal.ZonedDateTime> {
  const last = at(end, zone).toPlainDate();
  for (
    let date = at(start, zone).toPlainDate();
    Temporal.PlainDate.compare(date, last) <= 0;
    date = date.add({ days: 1 })
  ) {
    yield date.toZonedDateTime(zone);
  }
}

/** Opening hours on one day. */
function opened(
  day: Temporal.ZonedDateTime,
  { start, end }: GeneratedCalendar['hours'][number],
  isFaulty: boolean,
): Interval {
  const zone = day.timeZoneId;
  const opening = day.withPlainTime(plainTime(start)).epochMilliseconds;
  if (isFaulty) {
    const closing = day.withPlainTime(plainTime(end));
    const isOver = closing.epochMilliseconds > opening;
    return { start: opening, end: (isOver ? closing : closing.add({ days: 1 })).epochMilliseconds };
  }
  const lastDay = day.toPlainDate().add({ days: end > start ? 0 : 1 });
  return {
    start: opening,
    end: lastDay.toZonedDateTime({ timeZone: zone, plainTime: plainTime(end) }).epochMilliseconds,
  };
}

function openTime({ timeZone, hours }: GeneratedCalendar, range: Interval, has: (fault: Fault) => boolean) {
  const from = has('over-midnight') ? range.start : range.start - 24 * 60 * MINUTE;
  const found: Interval[] = [];
  const isFaulty = has('hours-over-a-change');
  for (const day of isFaulty
    ? daysOf({ start: from, end: range.end }, timeZone)
    : datesOf({ start: from, end: range.end }, timeZone)) {
    const today = hours.filter(({ days }) => days.includes(dayNames[day.dayOfWeek - 1] ?? ''));
    found.push(...today.map((entry) => opened(day, entry, isFaulty)));
  }
  return intersect(union(found), [range]);
}

/** The part of the search that lies within the planning horizon. */
function withinHorizon({ horizon, timeZone }: GeneratedCalendar, range: Interval, isFaulty: boolean): Interval {
  const bound = (date: string, days: number): number =>
    isFaulty
      ? Date.parse(date)
      : Temporal.PlainDate.from(date).add({ days }).toZonedDateTime(timeZone).epochMilliseconds;
  return horizon
    ? { start: Math.max(range.start, bound(horizon.start, 0)), end: Math.min(range.end, bound(horizon.end, 1)) }
    : range;
}

/** The starts within a free stretch at which the grid allows appointments. */
function* alignedIn(stretch: Interval, calendar: GeneratedCalendar, isFaulty: boolean): Generator<number> {
  const { interval, offset, alignmentTimeZone: zone, duration } = calendar;
  const last = stretch.end - duration * MINUTE;
  const distance = (time: number): number => {
    const { hour, minute } = at(time, zone);
    return (((hour * 60 + minute - offset) % interval) + interval) % interval;
  };
  if (!isFaulty) {
    for (let time = stretch.start; time <= last; time += MINUTE) {
      if (distance(time) === 0) {
        yield time;
      }
    }
    return;
  }
  for (const day of daysOf(stretch, zone)) {
    const from = Math.max(stretch.start, day.epochMilliseconds);
    const until = Math.min(stretch.end, day.add({ days: 1 }).epochMilliseconds);
    const wait = (interval - distance(from)) % interval;
    for (let time = from + wait * MINUTE; time < until && time <= last; time += interval * MINUTE) {
      yield time;
    }
  }
}

const isOfService = ({ serviceType = [] }: GeneratedSlot, own: CodeableConcept): boolean =>
  serviceType.length === 0 || serviceType.some(({ coding }) => coding?.[0]?.code === own.coding?.[0]?.code);

/**
 * When a calendar offers appointments by what Medplum documents about `$find`, worked out apart from the code of the
 * service, and with some of the ways in which `$find` departs from it.
 *
 * @returns the starts in order, milliseconds since 1970 UTC
 */
export function startsWith(calendar: GeneratedCalendar, search: Interval, some: readonly Fault[]): number[] {
  const has = (fault: Fault): boolean => some.includes(fault);
  const range = withinHorizon(calendar, search, has('horizon-in-utc'));
  if (range.start >= range.end) {
    return [];
  }
  const { slots, closures, serviceType, bufferBefore, bufferAfter } = calendar;
  const isFree = ({ status }: GeneratedSlot): boolean => status === 'free';
  const added = has('free-slots-added') ? slots.filter((slot) => isFree(slot) && isOfService(slot, serviceType)) : [];
  const blocks = slots.filter(
    (slot) =>
      !isFree(slot) &&
      (has('every-block-counts') || slot.status !== 'busy-unavailable' || isOfService(slot, serviceType)),
  );
  const open = union([...openTime(calendar, range, has), ...intersect(union(added), [range])]);
  const closed = has('closures-ignored') ? [] : closures;
  const starts = subtract(open, union([...blocks, ...closed])).flatMap(({ start, end }) => {
    const stretch = { start: start + bufferBefore * MINUTE, end: end - bufferAfter * MINUTE };
    return [...alignedIn(stretch, calendar, has('grid-over-a-change'))];
  });
  return [...new Set(starts)].sort((one, other) => one - other);
}
