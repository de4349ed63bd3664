import type { Appointment, Slot } from '@medplum/fhirtypes';
import { isBooked } from '../../slots/slot.ts';
import { type SlotUse, slotIdsOf, slotStatusOf, strongestUse } from '../../slots/slot-use.ts';
import { holdsSlots, slotUseOf, statusQuery } from '../appointment/status.ts';
import { searchUrl } from '../search.ts';

/**
 * The search for the appointments that hold one of some Slots.
 *
 * @param slots - their ids
 */
export const holderSearch = (slots: readonly string[]): string =>
  searchUrl('Appointment', [
    ['slot', slots.map((id) => `Slot/${id}`).join(',')],
    ['status', statusQuery(holdsSlots)],
    ['_count', '1000'],
  ]);

/** The appointments that hold Slots, by the id of the Slot. */
export function holdersOf(appointments: readonly Appointment[]): ReadonlyMap<string, readonly Appointment[]> {
  const holders = new Map<string, Appointment[]>();
  for (const appointment of appointments.filter(holdsSlots)) {
    for (const id of slotIdsOf(appointment)) {
      holders.set(id, [...(holders.get(id) ?? []), appointment]);
    }
  }
  return holders;
}

/** How appointments use the Slots that they name, by the id of the Slot: of several uses the strongest. */
export function usesOf(appointments: readonly Appointment[]): Map<string, SlotUse> {
  const uses = new Map<string, SlotUse>();
  for (const appointment of appointments) {
    const use = slotUseOf(appointment);
    for (const id of slotIdsOf(appointment)) {
      uses.set(id, strongestUse(use, uses.get(id)) ?? use);
    }
  }
  return uses;
}

/** Those Slots of an appointment whose status does not match its own. */
export function unfittingSlots(appointment: Appointment, slots: readonly Slot[]): Slot[] {
  const needed = slotStatusOf(slotUseOf(appointment));
  return holdsSlots(appointment)
    ? slots.filter(({ status }) => needed !== undefined && status !== needed)
    : slots.filter(isBooked);
}
