import type { Extension, Schedule } from '@medplum/fhirtypes';
import { DEFAULT_HOLD, deadlineExtensions, hasRunOut, holdExtensions, offerExtensions } from '../appointment/expiry.ts';
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
function held({ earlier: { previous }, context: { now, config } }: Situation, all: readonly Situation[]): Result {
  const lengths = policiesOf(all).flatMap(({ policy }) => policy.holdFor ?? []);
  const until = now + Math.min(...(lengths.length > 0 ? lengths : [DEFAULT_HOLD]));
  const isProlonging = previous !== undefined && !hasRunOut('hold', previous, now, config);
  return { status: 'proposed', extension: holdExtensions(until, isProlonging, config) };
}

/**
 * Confirmed at once or requested, as the clinic has configured; what staff move or book again is confirmed. If one of several
 * has to be confirmed by hand, all have, by the same moment.
 */
function bookedOrRequested({ state, known, context }: Situation, all: readonly Situation[]): Result {
  const { now, config } = context;
  const isKept = known.role === 'repository' && all.every(isForStaffToKeep);
  const servicesOf = (schedule: Schedule) => offeredServicesOf(schedule, state, known);
  const slots = all.flatMap(({ selected }) => selected.slots);
  if (isKept || confirmationOf(schedulesOf(slots, state), servicesOf, config) === 'automatic') {
    return { status: 'booked', extension: [] };
  }
  const first = all.find(({ before }) => before.length === 0);
  const { interval = { start: now, end: now } } = first?.request ?? {};
  const extension = deadlineExtensions(policiesOf(all), interval, first?.earlier.previous, now, config);
  return { status: 'pending', extension };
}

const policiesOf = (all: readonly Situation[]) => all.flatMap(({ verdict }) => verdict.policies);

/**
 * What an appointment becomes if there is nothing against it: booked or requested, held for some minutes, or offered.
 *
 * @param all - all appointments of its request, which end together
 */
export function resultOf(situation: Situation, all: readonly Situation[]): Result {
  const { purpose, offer, config } = situation.context;
  if (offer) {
    return { status: 'proposed', extension: offerExtensions(offer, config) };
  }
  return purpose === 'hold' ? held(situation, all) : bookedOrRequested(situation, all);
}
