import type { Appointment, BundleEntry, Slot, Task } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { updateEntry } from '../../fhir/resource.ts';
import { isBuffer, isOverbooking, overbookingMark } from '../../fhir/scheduling/slot-marks.ts';
import { ownerOf } from '../../fhir/tags.ts';
import { creation, newRow, rowSearch } from '../../rows/row.ts';
import { type CalendarSlot, calendarOf, isBooked, slotIdsOf, takesTimeOf } from '../../slots/slot.ts';
import { overlaps } from '../../time/interval.ts';
import { patientOf, timeText } from '../jobs/confirmation-task.ts';
import { hasEnded, reasonOf } from './expiry.ts';
import { holdsSlots, isOpen } from './status.ts';

/** An appointment, and the Slot that was written over its time. */
export interface Collision {
  readonly appointment: Appointment;
  readonly externalSlot: CalendarSlot;
  /** Whether the Slot blocks time: it is `busy-unavailable`, or an external busy slot that no appointment names. */
  readonly isBlock: boolean;
}

const exclude = (slot: CalendarSlot, other: CalendarSlot): boolean =>
  overlaps(slot, other) && (takesTimeOf(slot, other) || takesTimeOf(other, slot));

export function bookedBeside(slot: CalendarSlot, slots: readonly CalendarSlot[]): CalendarSlot[] {
  return slots.filter((one) => one.id !== slot.id && isBooked(one) && exclude(slot, one));
}

/**
 * Bookable slots that are booked without an appointment: somebody has set their status by hand.
 * @param appointments - the appointments that hold the slots (`holderSearch`)
 */
export function takenByHand(slots: readonly CalendarSlot[], appointments: readonly Appointment[]): CalendarSlot[] {
  const held = new Set(appointments.flatMap(slotIdsOf));
  return slots.filter((slot) => slot.role === 'bookable' && isBooked(slot) && !held.has(slot.id));
}

/**
 * Finds the appointments that lose their time to a Slot without an overbooking mark: an external busy slot, or a
 * bookable slot that was booked by hand. The order in which the two were written makes no difference. A confirmed
 * appointment of a requestor also loses its own Slot if somebody booked it by hand at the same moment.
 * @param slot - the Slot that was written
 * @param beside - the booked Slots that it excludes (`bookedBeside`)
 * @param appointments - the appointments that hold any of them
 * @param now - milliseconds since 1970 UTC; past time no longer collides
 */
export function collisions(
  slot: CalendarSlot,
  beside: readonly CalendarSlot[],
  appointments: readonly Appointment[],
  now: number,
  config: BookingConfig,
): Collision[] {
  const byHand = new Set(takenByHand([slot, ...beside], appointments));
  const takes = (one: CalendarSlot): boolean =>
    !isOverbooking(one.resource, config) && one.end > now && (one.role === 'external' || byHand.has(one));
  const mayYield = (appointment: Appointment): boolean =>
    holdsSlots(appointment) && !hasEnded(appointment, now, config) && !isOverbooking(appointment, config);
  const yielding = appointments.filter(mayYield);
  const named = new Set(appointments.filter(holdsSlots).flatMap(slotIdsOf));
  const isBlock = ({ id, role, status }: CalendarSlot): boolean =>
    status === 'busy-unavailable' || (role === 'external' && !named.has(id));
  const lostTo = (external: CalendarSlot, under: CalendarSlot): Collision[] =>
    yielding
      .map((appointment) => ({ appointment, ids: slotIdsOf(appointment) }))
      .filter(({ ids }) => ids.includes(under.id) && !ids.includes(external.id))
      .map(({ appointment }) => ({ appointment, externalSlot: external, isBlock: isBlock(external) }));
  const isInConflict = (appointment: Appointment): boolean =>
    slot.isByHand &&
    appointment.status === 'booked' &&
    ownerOf(appointment, config) !== undefined &&
    slotIdsOf(appointment).includes(slot.id);
  return isBuffer(slot.resource)
    ? []
    : [
        ...yielding.filter(isInConflict).map((appointment) => ({ appointment, externalSlot: slot, isBlock: false })),
        ...beside.flatMap((other) => [
          ...(takes(slot) ? lostTo(slot, other) : []),
          ...(byHand.has(other) && takes(other) ? lostTo(other, slot) : []),
        ]),
      ];
}

/**
 * Whether an appointment yields without a decision by staff. A busy Slot of the clinic wins over a hold and over an
 * unconfirmed request. A block may lie over both, and a confirmed appointment is a promise: in these cases a person
 * decides.
 */
export function givesWay({ appointment: { status }, externalSlot, isBlock }: Collision): boolean {
  return !isBlock && externalSlot.status === 'busy' && (status === 'proposed' || status === 'pending');
}

/** Whether an appointment was cancelled because staff gave its time to another one. */
export const hasGivenWay = ({ cancelationReason }: Appointment, config: PublicConfig): boolean =>
  (cancelationReason?.coding ?? []).some(
    ({ system, code }) => system === artefactUri(config, 'LocalBookingError') && code === 'slot-not-free',
  );

/** The yielding appointment as it is stored: cancelled with a coded reason. */
export function givenWay({ appointment }: Pick<Collision, 'appointment'>, config: BookingConfig): Appointment {
  const text = 'The clinic has given the time to another appointment.';
  return { ...appointment, status: 'cancelled', cancelationReason: reasonOf('slot-not-free', text, config) };
}

/** The open Task that asks staff to decide about an appointment. Each appointment has one at most. */
export function decisionTask(appointment: Appointment, more: Partial<Task>, config: BookingConfig): BundleEntry {
  const focus = { reference: `Appointment/${appointment.id}` };
  const patient = patientOf(appointment);
  const query = rowSearch(['collision'], { focus: focus.reference, status: 'requested' }, config);
  const task = { status: 'requested' as const, priority: 'urgent' as const, focus, ...(patient && { for: patient }) };
  return creation(newRow('collision', { ...task, ...more }, config), query);
}

/** The Task about a Slot on the time of an appointment. */
export const collisionTask = (
  { appointment, externalSlot }: Omit<Collision, 'isBlock'>,
  config: BookingConfig,
): BundleEntry => {
  const description = `Slot/${externalSlot.id} (${externalSlot.resource.status}), ${timeText(externalSlot.resource, config.timeZone)}, takes time of this appointment: move or cancel one of them.`;
  return decisionTask(appointment, { description, reasonReference: { reference: `Slot/${externalSlot.id}` } }, config);
};

/** Rank of an appointment: a confirmed one wins over a request, and a request over a hold. */
const rankOf = ({ status }: Appointment): number => (status === 'proposed' ? 0 : status === 'pending' ? 1 : 2);

/**
 * The one of two appointments on the same Slot that yields: the one of lower rank. At equal rank it is the one that did
 * not come through the service, because only the service locks Slots; otherwise the later one.
 */
export function yieldingAppointmentOf(one: Appointment, other: Appointment, config: BookingConfig): Appointment {
  const isOurs = (appointment: Appointment): number => (ownerOf(appointment, config) === undefined ? 1 : 0);
  const since = ({ meta }: Appointment): string => meta?.lastUpdated ?? '';
  const order =
    rankOf(other) - rankOf(one) ||
    isOurs(one) - isOurs(other) ||
    (since(one) > since(other) ? 1 : since(one) < since(other) ? -1 : (one.id ?? '') > (other.id ?? '') ? 1 : -1);
  return order > 0 ? one : other;
}

/** Other open appointments on a Slot of an appointment, none of them marked as an overbooking. */
export function conflictsOf(
  appointment: Appointment,
  others: readonly Appointment[],
  now: number,
  config: BookingConfig,
): Appointment[] {
  const ids = slotIdsOf(appointment);
  const mayNotOverlap = (one: Appointment): boolean =>
    isOpen(one) && holdsSlots(one) && !hasEnded(one, now, config) && !isOverbooking(one, config);
  return mayNotOverlap(appointment)
    ? others.filter((one) => mayNotOverlap(one) && slotIdsOf(one).some((id) => ids.includes(id)))
    : [];
}

/** Marks a confirmed appointment on time that is taken twice as an overbooking, and creates a Task for staff. */
export function overlapEntries(appointment: Appointment, external: CalendarSlot, config: BookingConfig): BundleEntry[] {
  const mark = overbookingMark(config);
  return [
    updateEntry(appointment, { ...appointment, extension: [...(appointment.extension ?? []), mark] }),
    collisionTask({ appointment, externalSlot: external }, config),
  ];
}

/**
 * Resolves the conflict of two appointments on one Slot. Two confirmed ones made by staff are both marked as
 * overbookings; otherwise one yields. Staff get a Task if it was theirs.
 */
export function conflictEntries(
  yielding: Appointment,
  winner: Appointment,
  slot: Slot | undefined,
  config: BookingConfig,
): BundleEntry[] {
  const isByPeople = (appointment: Appointment): boolean =>
    rankOf(appointment) === 2 && ownerOf(appointment, config) === undefined;
  const mark = overbookingMark(config);
  const marked = (appointment: Appointment): BundleEntry =>
    updateEntry(appointment, { ...appointment, extension: [...(appointment.extension ?? []), mark] });
  const [externalSlot] = slot ? calendarOf([slot], config).values() : [];
  const task =
    externalSlot && isByPeople(yielding) ? [collisionTask({ appointment: yielding, externalSlot }, config)] : [];
  return isByPeople(yielding) && isByPeople(winner)
    ? [marked(yielding), marked(winner), ...task]
    : [updateEntry(yielding, givenWay({ appointment: yielding }, config)), ...task];
}
