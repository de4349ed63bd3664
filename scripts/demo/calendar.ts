/** A time offered, in milliseconds since 1970-01-01T00:00:00Z. */
export interface Offer {
  readonly start: number;
  readonly end: number;
}

/** The hours of a schedule on a working day, in the local time of the machine. */
export interface Hours {
  readonly from: number;
  readonly to: number;
  /** Length of each offer in minutes; the whole of the hours if absent. */
  readonly minutes?: number;
}

const MINUTE = 60_000;

/**
 * The working days (Monday to Friday) of the two weeks that begin tomorrow.
 *
 * @param now - milliseconds since 1970-01-01T00:00:00Z
 * @returns midnight, local time, of ten days
 */
export function workingDays(now: number): Date[] {
  const today = new Date(now);
  const days = Array.from(
    { length: 14 },
    (_, index) => new Date(today.getFullYear(), today.getMonth(), today.getDate() + 1 + index),
  );
  return days.filter((day) => day.getDay() !== 0 && day.getDay() !== 6);
}

/**
 * What a schedule with these hours offers on one day: back to back, without gaps.
 *
 * @param day - midnight, local time
 */
export function offersOn(day: Date, { from, to, minutes }: Hours): Offer[] {
  const at = (hour: number): number => new Date(day.getFullYear(), day.getMonth(), day.getDate(), hour).getTime();
  const length = minutes ? minutes * MINUTE : at(to) - at(from);
  const offers: Offer[] = [];
  for (let start = at(from); start + length <= at(to); start += length) {
    offers.push({ start, end: start + length });
  }
  return offers;
}
