import { nextMidnight } from '../../time/local-day.ts';
import { DAY } from '../../time/time-zone.ts';
import type { Publishing } from '../parameters/schedule-calendar.ts';
import type { Publication } from './publication.ts';

/**
 * The end of the first two weeks of a calendar, which are published before the rest of any calendar. It is the same for
 * a whole day, so that a calendar that has reached it continues with the rest. `first` is the first moment to publish.
 */
export const nearestUntil = (first: number, now: number): number => (Math.floor(Math.max(first, now) / DAY) + 15) * DAY;

/** The state of a Schedule in a sweep. */
export interface ScheduleState {
  /** `undefined` if there is none, or it was cancelled. */
  readonly publication: Publication | undefined;
  readonly takesPart: boolean;
  readonly inputs: string;
}

/**
 * A new publication of a Schedule whose inputs have changed; `undefined` if it is up to date. It replaces even a
 * waiting row, so that a run with the old inputs can no longer write.
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

/** The moment at which a calendar's horizon gains a day: the next midnight in the first of its time zones. */
export function nextDay(publishing: Publishing, now: number, timeZone: string): number {
  const calendars = publishing.kind === 'on' ? publishing.calendars : [];
  const zones = calendars.length > 0 ? calendars.map(({ parameters }) => parameters.timeZone) : [timeZone];
  return Math.min(...zones.map((zone) => nextMidnight(now, zone)));
}
