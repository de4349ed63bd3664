import { parseInstant } from '../../../fhir/instant.ts';
import { idIn } from '../../../fhir/reference/reference.ts';
import { type Interval, overlaps } from '../../../time/interval.ts';
import { DAY } from '../../../time/time-zone.ts';
import { slotIdsOf } from '../../appointment/slot-use.ts';
import { canBeMoved } from '../../appointment/status.ts';
import { findResource, type ResourceSet } from '../../resource-set.ts';
import type { BookRequest } from '../request/request.ts';
import type { EarlierAppointments } from './reschedule.ts';

/** The longest appointment for which returning Slots are worked out, in milliseconds. */
const LONGEST = 3 * DAY;

/** What must be known to say which Slots return with a move (`returningSlots`). */
export interface Returning {
  /** Ids of the Schedules in which time is given back. */
  readonly schedules: readonly string[];
  /** Ids of the Slots that are given back. */
  readonly givenBack: readonly string[];
  /** Ids of the appointments that give them back. */
  readonly appointments: readonly string[];
  /** From the earlier start to the later end of the time that is given back and the time that is wanted. */
  readonly time: Interval;
}

/**
 * Whether a move could need time that its own appointment keeps from being offered: it wants time within a day of it.
 *
 * @returns what must be read to tell, or `undefined` if nothing can return there
 */
export function returningFor(
  { interval }: BookRequest,
  { previous, replaced }: EarlierAppointments,
  state: ResourceSet,
): Returning | undefined {
  const moved = [previous, replaced].filter((one) => one !== undefined && canBeMoved(one));
  const slots = moved.flatMap(slotIdsOf).flatMap((id) => findResource(state, 'Slot', id) ?? []);
  if (!interval || interval.end - interval.start > LONGEST) {
    return undefined;
  }
  const near = slots.filter((slot) => {
    const [start, end] = [parseInstant(slot.start), parseInstant(slot.end)];
    const isShort = start !== undefined && end !== undefined && end - start <= LONGEST;
    return isShort && overlaps({ start: start - DAY, end: end + DAY }, interval);
  });
  if (near.length === 0) {
    return undefined;
  }
  return {
    schedules: [...new Set(near.flatMap(({ schedule }) => idIn(schedule, 'Schedule') ?? []))],
    givenBack: moved.flatMap(slotIdsOf),
    appointments: moved.flatMap((one) => one?.id ?? []),
    time: {
      start: Math.min(interval.start, ...near.map(({ start }) => Date.parse(start))),
      end: Math.max(interval.end, ...near.map(({ end }) => Date.parse(end))),
    },
  };
}
