import type { ResourceSet } from '../resource-set.ts';
import { issuesOfAppointments } from './appointments.ts';
import type { ConsistencyContext, Finding } from './finding.ts';
import { findOrphans } from './orphans.ts';
import { issuesOfSlots } from './slots.ts';
import { issuesOfTakenTime } from './taken-time.ts';

export type { ConsistencyContext, Finding };

/**
 * Checks that appointments, slots and what belongs to them agree. Of the types Appointment, Slot and Task the state
 * must hold all that is to be checked, and of the others whatever those refer to.
 *
 * @returns what does not agree; nothing if all is well
 */
export function checkConsistency(state: ResourceSet, context: ConsistencyContext): Finding[] {
  return [issuesOfAppointments, issuesOfSlots, issuesOfTakenTime, findOrphans].flatMap((check) =>
    check(state, context),
  );
}
