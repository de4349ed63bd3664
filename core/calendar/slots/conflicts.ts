import type { CodeableConcept } from '@medplum/fhirtypes';
import { type Interval, overlaps } from '../../time/interval.ts';
import { type SlotChange, withdrawal } from '../publish/slot-change.ts';
import { isBuffer, isTaken, type PlacedSlot, takesFrom } from './slot-role.ts';

/** Time in one Schedule that is to be booked. */
export interface Claim {
  /** The time of the appointment. */
  readonly interval: Interval;
  /** The same with its buffers; by default there are none. */
  readonly around?: Interval | undefined;
  /** Ids of the Slots to be booked. */
  readonly slots: readonly string[];
  /** The services that it is for, if known. */
  readonly services: readonly CodeableConcept[] | undefined;
}

/** What the Slots that are to be booked belong to, their places if they are published, and whether one was never offered. */
function claimed(slots: readonly PlacedSlot[], ids: readonly string[]) {
  const own = slots.filter(({ id }) => ids.includes(id));
  return {
    origins: new Set(own.map(({ origin }) => origin)),
    places: new Set(own.flatMap(({ role }) => (role.kind === 'published' ? [role.key.place] : []))),
    isTaking: own.some(({ role }) => role.kind === 'taking'),
  };
}

/**
 * The Slots that prevent a booking although its own Slots are free: takings, held Slots published for the same place,
 * and, within its buffers, the held parts of the Slot that it takes a part of. A Slot that was never offered takes the
 * time of every place: against it everything confirmed counts, while requests and holds give way to it.
 *
 * @param slots - of the Schedule, at least those that overlap the time; Slots that the booking releases are left out
 * @returns empty if nothing prevents the booking
 */
export function conflicts(slots: readonly PlacedSlot[], claim: Claim): PlacedSlot[] {
  const { interval, around = interval, slots: ids, services } = claim;
  const { origins, places, isTaking } = claimed(slots, ids);
  const isInTheWay = (slot: PlacedSlot): boolean => {
    const { role, resource, origin } = slot;
    if (origins.has(origin) && !isBuffer(resource)) {
      return !overlaps(slot, interval);
    }
    if (isTaking && resource.status === 'busy') {
      return true;
    }
    return role.kind === 'published'
      ? places.has(role.key.place)
      : role.kind === 'taking' && takesFrom(resource, services);
  };
  return slots.filter(
    (slot) => !ids.includes(slot.id) && overlaps(slot, around) && isTaken(slot.resource) && isInTheWay(slot),
  );
}

/**
 * The published Slots that a booking withdraws: the free ones of its place that it overlaps. They are withdrawn in the
 * booking's transaction and so act as its lock: two bookings that exclude each other write the same Slots.
 *
 * @param slots - of the Schedule, at least all that overlap the time
 */
export function withdrawnWith(slots: readonly PlacedSlot[], claim: Claim): SlotChange[] {
  const { interval, around = interval, slots: ids } = claim;
  const { origins, places } = claimed(slots, ids);
  return slots
    .filter(({ resource, origin }) => resource.status === 'free' && !origins.has(origin))
    .filter((slot) => overlaps(slot, around) && slot.role.kind === 'published' && places.has(slot.role.key.place))
    .map(({ id, resource }) => withdrawal(resource, id));
}
