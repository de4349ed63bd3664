import type { Interval } from '../../time/interval.ts';
import { changeOfOffset, DAY, offsetAt } from '../../time/time-zone.ts';
import type { Alignment } from '../parameters/parameter-values.ts';

const MINUTE = 60_000;

/** The longest first part of a period that lies on one local day and has one offset. */
function evenPart({ start, end }: Interval, timeZone: string): Interval & { readonly offset: number } {
  const offset = offsetAt(timeZone, start);
  const midnight = (Math.floor((start + offset) / DAY) + 1) * DAY - offset;
  const until = Math.min(end, midnight);
  const isEven = offsetAt(timeZone, until - 1) === offset;
  return { start, end: isEven ? until : changeOfOffset(timeZone, start, until - 1), offset };
}

/** The remainder without the sign that `%` takes from its first operand. */
function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}

/**
 * The instants of a period at which appointments may begin: those at which the clocks show a multiple of the alignment
 * interval after midnight, shifted by its offset.
 *
 * @param length - of an appointment in milliseconds; it must end within the period
 * @returns in order, milliseconds since 1970 UTC
 */
export function alignedStarts(stretch: Interval, { interval, offset, timeZone }: Alignment, length: number): number[] {
  const starts: number[] = [];
  const latest = stretch.end - length;
  for (let rest = stretch; rest.start <= latest; ) {
    const part = evenPart({ start: rest.start, end: rest.end }, timeZone);
    const local = part.start + part.offset - offset * MINUTE;
    const first = part.start + modulo(-local, interval * MINUTE);
    for (let start = first; start < part.end && start <= latest; start += interval * MINUTE) {
      starts.push(start);
    }
    rest = { start: part.end, end: stretch.end };
  }
  return starts;
}
