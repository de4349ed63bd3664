import type { Appointment, BundleEntry, Slot, Task } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { idIn } from '../../fhir/reference.ts';
import { updateEntry } from '../../fhir/resource.ts';
import { isBuffer, isOverbooking, overbookingMark } from '../../fhir/scheduling/slot-marks.ts';
import { ownerOf } from '../../fhir/tags.ts';
import { creation, newRow, rowSearch } from '../../rows/row.ts';
import { type CalendarSlot, calendarOf, isBooked, slotIdsOf, takesTimeOf } from '../../slots/slot.ts';
import { overlaps } from '../../time/interval.ts';
import { timeText } from '../jobs/confirmation-task.ts';
import { hasEnded, reasonOf } from './expiry.ts';
import { holdsSlots, isOpen } from './status.ts';

/** An appointment, and the Slot that was written over its time. */
export interface Collision {
  readonly appointment: Appointment;
  readonly taking: CalendarSlot;
  /** Whether the Slot is nobody's: no appointment names it, and it never was bookable. It is a block, whatever its status. */
  readonly isBlock: boolean;
}

/** Whether of two Slots one takes the time of the other. */
const exclude = (slot: CalendarSlot, other: CalendarSlot): boolean =>
  overlaps(slot, other) && (takesTimeOf(slot, other) || takesTimeOf(other, slot));

/** Of some Slots, the booked ones that overlap one of them and exclude it. */
export function bookedBeside(slot: CalendarSlot, slots: readonly CalendarSlot[]): CalendarSlot[] {
  return slots.filter((one) => one.id !== slot.id && isBooked(one) && exclude(slot, one));
}

/**
 * Offers that are booked, but by no appointment: somebody has taken them by hand.
 *
 * @param appointments - those that hold the slots (`holderSearch`)
 */
export function takenByHand(slots: readonly CalendarSlot[], appointments: readonly Appointment[]): CalendarSlot[] {
  const held = new Set(appointments.flatMap(slotIdsOf));
  return slots.filter((slot) => slot.role === 'offer' && isBooked(slot) && !held.has(slot.id));
}

/**
 * The appointments that lose their time to something that was written over it and does not say that it is an overbooking:
 * to a Slot that never was on offer, or to an offer that was taken by hand. Which of two such Slots was written last makes
 * no difference. A confirmed appointment of a requestor also loses its own Slot to whoever took it at the same moment.
 *
 * @param slot - the one that was written
 * @param beside - the booked ones that it excludes (`bookedBeside`)
 * @param appointments - those that hold any of them
 * @param now - milliseconds since 1970 UTC: what has passed no longer collides
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
  const isLoser = (appointment: Appointment): boolean =>
    holdsSlots(appointment) && !hasEnded(appointment, now, config) && !isOverbooking(appointment, config);
  const losing = appointments.filter(isLoser);
  const named = new Set(appointments.filter(holdsSlots).flatMap(slotIdsOf));
  const isBlock = ({ id, role, status }: CalendarSlot): boolean =>
    status === 'busy-unavailable' || (role === 'external' && !named.has(id));
  const lostTo = (external: CalendarSlot, under: CalendarSlot): Collision[] =>
    losing
      .map((appointment) => ({ appointment, ids: slotIdsOf(appointment) }))
      .filter(({ ids }) => ids.includes(under.id) && !ids.includes(external.id))
      .map(({ appointment }) => ({ appointment, taking: external, isBlock: isBlock(external) }));
  const isRival = (appointment: Appointment): boolean =>
    slot.isByHand &&
    appointment.status === 'booked' &&
    ownerOf(appointment, config) !== undefined &&
    slotIdsOf(appointment).includes(slot.id);
  return isBuffer(slot.resource)
    ? []
    : [
        ...losing.filter(isRival).map((appointment) => ({ appointment, taking: slot, isBlock: false })),
        ...beside.flatMap((other) => [
          ...(takes(slot) ? lostTo(slot, other) : []),
          ...(byHand.has(other) && takes(other) ? lostTo(other, slot) : []),
        ]),
      ];
}

/**
 * Whether an appointment gives way by itself: what the clinic books wins over a hold, and over a request that it has not
 * confirmed. A block may lie over both, and a confirmed appointment is a promise: in these cases a person decides.
 */
export function givesWay({ appointment: { status }, taking, isBlock }: Collision): boolean {
  return !isBlock && taking.status === 'busy' && (status === 'proposed' || status === 'pending');
}

/** Whether an appointment was cancelled because staff have given its time to another one. */
export const hasGivenWay = ({ cancelationReason }: Appointment, config: PublicConfig): boolean =>
  (cancelationReason?.coding ?? []).some(
    ({ system, code }) => system === artefactUri(config, 'LocalBookingError') && code === 'slot-not-free',
  );

/** An appointment that gives way, as it is stored: its reason says why. */
export function givenWay({ appointment }: Pick<Collision, 'appointment'>, config: BookingConfig): Appointment {
  const text = 'The clinic has given the time to another appointment.';
  return { ...appointment, status: 'cancelled', cancelationReason: reasonOf('slot-not-free', text, config) };
}

/** The open Task of a collision, one for each appointment, from which staff learn what they have to decide. */
export function collisionTask({ appointment, taking }: Omit<Collision, 'isBlock'>, config: BookingConfig): BundleEntry {
  const focus = { reference: `Appointment/${appointment.id}` };
  const patient = appointment.participant.map(({ actor }) => actor).find((actor) => idIn(actor, 'Patient'));
  const more: Partial<Task> = {
    priority: 'urgent',
    description: `Slot/${taking.id} (${taking.resource.status}), ${timeText(taking.resource, config.timeZone)}, takes time of this appointment: move or cancel one of them.`,
    focus,
    ...(patient && { for: patient }),
    reasonReference: { reference: `Slot/${taking.id}` },
  };
  const query = rowSearch(['collision'], { focus: focus.reference, status: 'requested' }, config);
  return creation(newRow('collision', { status: 'requested', ...more }, config), query);
}

/** How binding an appointment is: a confirmed one wins over a request, and a request over a hold. */
const rankOf = ({ status }: Appointment): number => (status === 'proposed' ? 0 : status === 'pending' ? 1 : 2);

/**
 * Of two appointments that hold one Slot, the one that gives way: the less binding one; of two of a kind the one that did
 * not come through the service, which alone takes Slots with a lock, else the later one.
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

/** Other open appointments that hold a Slot of an appointment although none of them says that it is an overbooking. */
export function conflictsOf(
  appointment: Appointment,
  others: readonly Appointment[],
  now: number,
  config: BookingConfig,
): Appointment[] {
  const ids = slotIdsOf(appointment);
  const isAlone = (one: Appointment): boolean =>
    isOpen(one) && holdsSlots(one) && !hasEnded(one, now, config) && !isOverbooking(one, config);
  return isAlone(appointment)
    ? others.filter((one) => isAlone(one) && slotIdsOf(one).some((id) => ids.includes(id)))
    : [];
}

/** A confirmed appointment that lies on time which something else takes, too: it is marked, and staff are told. */
export function overlapEntries(appointment: Appointment, external: CalendarSlot, config: BookingConfig): BundleEntry[] {
  const mark = overbookingMark(config);
  return [
    updateEntry(appointment, { ...appointment, extension: [...(appointment.extension ?? []), mark] }),
    collisionTask({ appointment, taking: external }, config),
  ];
}

/** What becomes of two appointments that hold one Slot. */
export function conflictEntries(
  loser: Appointment,
  winner: Appointment,
  slot: Slot | undefined,
  config: BookingConfig,
): BundleEntry[] {
  const isByPeople = (appointment: Appointment): boolean =>
    rankOf(appointment) === 2 && ownerOf(appointment, config) === undefined;
  const mark = overbookingMark(config);
  const marked = (appointment: Appointment): BundleEntry =>
    updateEntry(appointment, { ...appointment, extension: [...(appointment.extension ?? []), mark] });
  const [taking] = slot ? calendarOf([slot], config).values() : [];
  const task = taking && isByPeople(loser) ? [collisionTask({ appointment: loser, taking }, config)] : [];
  return isByPeople(loser) && isByPeople(winner)
    ? [marked(loser), marked(winner), ...task]
    : [updateEntry(loser, givenWay({ appointment: loser }, config)), ...task];
}
