import { issuesOfAppointments } from './consistency/appointments.ts';
import type { ConsistencyContext, Finding, Rule } from './consistency/finding.ts';
import { leftovers } from './consistency/leftovers.ts';
import { issuesOfSlots } from './consistency/slots.ts';
import type { BookingState } from './state.ts';

export type { ConsistencyContext, Finding, Rule };

/**
 * Checks that appointments, slots and what belongs to them agree. Of the types Appointment, Slot and Task the state
 * must hold all that is to be checked, and of the others whatever those refer to.
 *
 * @returns what does not agree; nothing if all is well
 */
export function checkConsistency(state: BookingState, context: ConsistencyContext): Finding[] {
  return [issuesOfAppointments, issuesOfSlots, leftovers].flatMap((check) => check(state, context));
}
