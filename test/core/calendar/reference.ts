import { Temporal } from 'temporal-polyfill';
import { DAY } from '../../../core/time/time-zone.ts';

/** A calendar as the reference sees it: times are whole minutes. */
export interface ReferenceCalendar {
  readonly timeZone: string;
  /** Days of the week as in `Temporal`, 1 is Monday; minutes after midnight. */
  readonly hours: readonly { readonly days: readonly number[]; readonly start: number; readonly end: number }[];
  readonly duration: number;
  readonly bufferBefore: number;
  readonly bufferAfter: number;
  readonly interval: number;
  readonly offset: number;
  readonly alignmentTimeZone: string;
}

const MINUTE = 60_000;

function plainTime(minutes: number): Temporal.PlainTime {
  return new Temporal.PlainTime(Math.floor(minutes / 60), minutes % 60);
}

/** The opening hours of a stretch of time, as an independent implementation of time zones reads them. */
export function openByTemporal(
  { timeZone, hours }: Pick<ReferenceCalendar, 'timeZone' | 'hours'>,
  from: number,
  to: number,
): { start: number; end: number }[] {
  const first = Temporal.Instant.fromEpochMilliseconds(from - 2 * DAY)
    .toZonedDateTimeISO(timeZone)
    .toPlainDate();
  const last = Temporal.Instant.fromEpochMilliseconds(to + DAY)
    .toZonedDateTimeISO(timeZone)
    .toPlainDate();
  const found: { start: number; end: number }[] = [];
  for (let date = first; Temporal.PlainDate.compare(date, last) <= 0; date = date.add({ days: 1 })) {
    for (const { start, end } of hours.filter(({ days }) => days.includes(date.dayOfWeek))) {
      const closing = end > start ? date : date.add({ days: 1 });
      found.push({
        start: date.toZonedDateTime({ timeZone, plainTime: plainTime(start) }).epochMilliseconds,
        end: closing.toZonedDateTime({ timeZone, plainTime: plainTime(end) }).epochMilliseconds,
      });
    }
  }
  return found
    .map(({ start, end }) => ({ start: Math.max(start, from), end: Math.min(end, to) }))
    .filter(({ start, end }) => start < end);
}

/** Which minutes of a stretch of time belong to some intervals. */
export function minutesIn(intervals: readonly { start: number; end: number }[], from: number, to: number): Uint8Array {
  const minutes = new Uint8Array((to - from) / MINUTE);
  for (const { start, end } of intervals) {
    const [first, last] = [Math.max(0, (start - from) / MINUTE), Math.max(0, (end - from) / MINUTE)];
    minutes.fill(1, Math.ceil(first), Math.floor(last));
  }
  return minutes;
}

/**
 * The starts that Medplum's `$find` describes, tried out minute by minute: aligned as the clocks show it, and with the
 * appointment and its buffers within free time.
 */
export function startsByBruteForce(
  calendar: ReferenceCalendar,
  taken: readonly { start: number; end: number }[],
  from: number,
  to: number,
): number[] {
  const { duration, bufferBefore, bufferAfter, interval, offset, alignmentTimeZone } = calendar;
  const open = minutesIn(openByTemporal(calendar, from, to), from, to);
  const blocked = minutesIn(taken, from, to);
  const isFree = (minute: number): boolean => open[minute] === 1 && blocked[minute] === 0;
  const starts: number[] = [];
  for (let minute = 0; minute < open.length; minute++) {
    const needed = Array.from(
      { length: bufferBefore + duration + bufferAfter },
      (_, index) => minute - bufferBefore + index,
    );
    if (needed.every(isFree)) {
      const time = Temporal.Instant.fromEpochMilliseconds(from + minute * MINUTE).toZonedDateTimeISO(alignmentTimeZone);
      const distance = time.hour * 60 + time.minute - offset;
      if (distance % interval === 0) {
        starts.push(from + minute * MINUTE);
      }
    }
  }
  return starts;
}
