import type { Extension, Schedule } from '@medplum/fhirtypes';
import { DEFAULT_HOLD, deadlineExtensions, hasRunOut, holdExtensions } from '../appointment/expiry.ts';
import { offerExtensions } from '../appointment/offer.ts';
import { offeredServicesOf } from './knowledge.ts';
import { isForStaffToKeep, type Situation } from './situation.ts';
import { schedulesOf } from './slots/select-slots.ts';
import { confirmationOf } from './slots/service-type.ts';

/** What the service itself sets in an appointment. */
export interface Result {
  readonly status: 'booked' | 'pending' | 'proposed';
  /** Extensions that the service itself sets. */
  readonly extension: readonly Extension[];
}

/**
 * A hold for the shortest time that a policy gives, from now on, otherwise for ten minutes. A hold that has not expired yet
 * can be extended, but only once.
 */
function held({ verdict, earlier: { previous }, context: { now, config } }: Situation): Result {
  const lengths = verdict.policies.flatMap(({ policy }) => policy.holdFor ?? []);
  const until = now + Math.min(...(lengths.length > 0 ? lengths : [DEFAULT_HOLD]));
  const isProlonging = previous !== undefined && !hasRunOut('hold', previous, now, config);
  return { status: 'proposed', extension: holdExtensions(until, isProlonging, config) };
}

/** Confirmed at once or requested, as the clinic has configured; what staff move or book again is confirmed. */
function bookedOrRequested(situation: Situation): Result {
  const { request, selected, verdict, state, known, earlier, context } = situation;
  const { now, config } = context;
  const isKept = known.role === 'repository' && isForStaffToKeep(situation);
  const servicesOf = (schedule: Schedule) => offeredServicesOf(schedule, state, known);
  const confirmation = confirmationOf(schedulesOf(selected.slots, state), servicesOf, config);
  if (isKept || confirmation === 'automatic') {
    return { status: 'booked', extension: [] };
  }
  const { interval = { start: now, end: now } } = request;
  return {
    status: 'pending',
    extension: deadlineExtensions(verdict.policies, interval, earlier.previous, now, config),
  };
}

/** What an appointment becomes if there is nothing against it: booked or requested, held for some minutes, or offered. */
export function resultOf(situation: Situation): Result {
  const { purpose, offer, config } = situation.context;
  if (offer) {
    return { status: 'proposed', extension: offerExtensions(offer, config) };
  }
  return purpose === 'hold' ? held(situation) : bookedOrRequested(situation);
}
