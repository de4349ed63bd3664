import type { ResourceSet } from '../resource-set.ts';
import { issuesOfAppointments } from './appointments.ts';
import type { ConsistencyContext, Finding } from './finding.ts';
import { findOrphans } from './orphans.ts';
import { issuesOfSlots } from './slots.ts';
import { issuesOfTakenTime } from './taken-time.ts';

export type { ConsistencyContext, Finding };

/**
 * Checks that appointments, slots and what belongs to them agree. The state must hold all Appointments, Slots and Tasks that
 * are to be checked, and the resources of other types that these refer to.
 *
 * @returns what does not agree; nothing if all is well
 */
export function checkConsistency(state: ResourceSet, context: ConsistencyContext): Finding[] {
  return [issuesOfAppointments, issuesOfSlots, issuesOfTakenTime, findOrphans].flatMap((check) =>
    check(state, context),
  );
}
