import type { CodeableConcept } from '@medplum/fhirtypes';
import { type Interval, overlaps } from '../../time/interval.ts';
import { type SlotChange, withdrawal } from '../publish/slot-change.ts';
import { isTaken, type PlacedSlot, takesFrom } from './slot-role.ts';

/** Time of one Schedule that is to be booked. */
export interface Claim {
  /** The time of the appointment. */
  readonly interval: Interval;
  /** Ids of the Slots to be booked. */
  readonly slots: readonly string[];
  /** The services that it is for, as far as they are known. */
  readonly services: readonly CodeableConcept[] | undefined;
}

/** The places of the published Slots among those that are to be booked, and what they belong to. */
function claimed(slots: readonly PlacedSlot[], ids: readonly string[]) {
  const own = slots.filter(({ id }) => ids.includes(id));
  return {
    origins: new Set(own.map(({ origin }) => origin)),
    places: new Set(own.flatMap(({ role }) => (role.kind === 'published' ? [role.key.place] : []))),
  };
}

/**
 * What stands in the way of a booking although its Slots are free: takings, and what is held of the published Slots that
 * share its place.
 *
 * @param slots - of the Schedule, those at least that overlap the time; Slots that the booking gives back are left out
 * @returns empty if there is nothing
 */
export function conflicts(slots: readonly PlacedSlot[], { interval, slots: ids, services }: Claim): PlacedSlot[] {
  const { origins, places } = claimed(slots, ids);
  return slots
    .filter((slot) => !origins.has(slot.origin) && overlaps(slot, interval) && isTaken(slot.resource))
    .filter(({ role, resource }) =>
      role.kind === 'published' ? places.has(role.key.place) : role.kind === 'taking' && takesFrom(resource, services),
    );
}

/**
 * The published Slots that a booking takes off the market: the free ones of its place that it overlaps. Withdrawn in the
 * transaction that books, they are also its lock: of two bookings that exclude each other, both write the Slots of both.
 *
 * @param slots - of the Schedule, all at least that overlap the time
 */
export function withdrawnWith(slots: readonly PlacedSlot[], { interval, slots: ids }: Claim): SlotChange[] {
  const { origins, places } = claimed(slots, ids);
  return slots
    .filter(({ resource, origin }) => resource.status === 'free' && !origins.has(origin))
    .filter((slot) => overlaps(slot, interval) && slot.role.kind === 'published' && places.has(slot.role.key.place))
    .map(({ id, resource }) => withdrawal(resource, id));
}
