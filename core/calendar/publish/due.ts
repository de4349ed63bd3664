import type { Task } from '@medplum/fhirtypes';
import { nextMidnight } from '../../time/local-day.ts';
import { DAY } from '../../time/time-zone.ts';
import type { Publishing } from '../parameters/schedule-calendar.ts';
import { lookIn, type Publication } from './publication.ts';

/** How long after the last change of an appointment bookings are assumed to have stopped, in milliseconds. */
export const QUIET_AFTER = 2 * 60_000;

/**
 * Up to when every calendar is published before any has the rest: two weeks from tomorrow on, the same for a whole day, so
 * that a calendar that has reached it goes on with the rest.
 */
export const nearestUntil = (now: number): number => (Math.floor(now / DAY) + 15) * DAY;

/** So many calendars at most are a few: their nearest days are published at once, whatever else goes on. */
const FEW = 20;

/** How often Medplum's clock starts a run, in milliseconds. */
const MINUTE = 60_000;

/** What is known of a Schedule when it is looked at. */
export interface Standing {
  /** `undefined` if it has none, or it was cancelled. */
  readonly publication: Publication | undefined;
  /** Whether it has opening hours now. */
  readonly takesPart: boolean;
  /** What its publication would be made from now (`Publication.inputs`). */
  readonly inputs: string;
}

/**
 * The publication of a Schedule as it is to be written so that a run takes it up: from its beginning if what it is made
 * from has changed; where it was if a row of an earlier version does not say when it is due.
 *
 * @returns `undefined` if it is up to date, or waits for a run that will read everything
 */
export function outdated(schedule: string, standing: Standing, now: number): Publication | undefined {
  const { publication, takesPart, inputs } = standing;
  const anew: Publication = { schedule, status: 'accepted', due: now };
  if (!publication || publication.status === 'cancelled') {
    return takesPart ? anew : undefined;
  }
  const { status, from, due } = publication;
  const waits = status === 'requested' || status === 'accepted';
  if (waits && from === undefined && due !== undefined && due <= now) {
    return undefined;
  }
  // A run that is about it, and has not written what it read, may have read the state before the change.
  if (publication.inputs !== inputs) {
    return anew;
  }
  if (publication.due !== undefined) {
    return undefined;
  }
  return publication.status === 'failed' ? anew : { ...publication, status: 'in-progress', due: now };
}

/** When the horizon of a calendar gains a day: at the next midnight in its time zone, the earliest if it has several. */
export function nextDay(publishing: Publishing, now: number, timeZone: string): number {
  const calendars = publishing.kind === 'on' ? publishing.calendars : [];
  const zones = calendars.length > 0 ? calendars.map(({ parameters }) => parameters.timeZone) : [timeZone];
  return Math.min(...zones.map((zone) => nextMidnight(now, zone)));
}

/** The rows that are due, those that wait longest first, and what else goes on. */
export interface Line {
  /** Those whose nearest days are not published, and looks that are not over. */
  readonly nearest: readonly Task[];
  readonly others: readonly Task[];
  /** Whether an appointment was booked or changed lately. */
  readonly isBooked: boolean;
}

/** What a run does next. */
interface Next {
  readonly rows: readonly Task[];
  /** Whether all its time is for this, and that of the next run; otherwise only the share that publishing has. */
  readonly isAtOnce: boolean;
}

/** Whether publishing has only its share of the time, because somebody books. */
export const isPaced = (isBooked: boolean, share: number, limit: number): boolean =>
  isBooked && shareOfMinute(share) < limit;

/**
 * What a run does next: everything if nobody books; while somebody does, the look at all Schedules, the nearest days of a
 * few, and of all others as much as the share of the time allows.
 *
 * @param share - the share of the time that publishing may take while bookings are being made
 * @param limit - how long a run lasts, in milliseconds
 */
export function nextOf({ nearest, others, isBooked }: Line, share: number, limit: number): Next {
  const looks = nearest.filter((row) => lookIn(row) !== undefined);
  const rows = [...looks, ...nearest.filter((row) => !looks.includes(row)), ...others];
  if (!isPaced(isBooked, share, limit)) {
    return { rows, isAtOnce: true };
  }
  const atOnce = looks.length > 0 ? looks : nearest.length <= FEW ? nearest : [];
  return atOnce.length > 0 ? { rows: atOnce, isAtOnce: true } : { rows, isAtOnce: false };
}

/** How much of a run that the clock starts is for publishing while bookings are being made, in milliseconds. */
export const shareOfMinute = (share: number): number => share * MINUTE;
