import { nextMidnight } from '../../time/local-day.ts';
import { DAY } from '../../time/time-zone.ts';
import type { Publishing } from '../parameters/schedule-calendar.ts';
import type { Publication } from './publication.ts';

/**
 * The end of the nearest days of a calendar, which are published before the rest of any: two weeks from its first day on.
 * It is the same for a whole day, so that a calendar that has reached it goes on with the rest.
 *
 * @param first - its first moment that is published; milliseconds since 1970 UTC
 */
export const nearestUntil = (first: number, now: number): number => (Math.floor(Math.max(first, now) / DAY) + 15) * DAY;

/** What is known of a Schedule when a sweep reads it. */
export interface ScheduleState {
  /** `undefined` if it has none, or it was cancelled. */
  readonly publication: Publication | undefined;
  /** Whether it has opening hours now. */
  readonly takesPart: boolean;
  /** What its publication would be made from now (`Publication.inputs`). */
  readonly inputs: string;
}

/**
 * The publication of a Schedule from its beginning, if what it is made from has changed. It is written even if the row waits
 * already: a run that has read the inputs of before must not write any more.
 *
 * @returns `undefined` if it is up to date, or waits for these inputs
 */
export function outdated(
  schedule: string,
  { publication, takesPart, inputs }: ScheduleState,
  now: number,
): Publication | undefined {
  const isKnown = publication !== undefined && publication.status !== 'cancelled';
  const isCurrent = isKnown ? publication.inputs === inputs : !takesPart;
  return isCurrent ? undefined : { schedule, status: 'accepted', due: now, inputs };
}

/** When the horizon of a calendar gains a day: at the next midnight in its time zone, the earliest if it has several. */
export function nextDay(publishing: Publishing, now: number, timeZone: string): number {
  const calendars = publishing.kind === 'on' ? publishing.calendars : [];
  const zones = calendars.length > 0 ? calendars.map(({ parameters }) => parameters.timeZone) : [timeZone];
  return Math.min(...zones.map((zone) => nextMidnight(now, zone)));
}
