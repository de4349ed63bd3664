import type { CodeableConcept } from '@medplum/fhirtypes';
import { type Interval, overlaps } from '../../time/interval.ts';
import { type SlotChange, withdrawal } from '../publish/slot-change.ts';
import { isTaken, type PlacedSlot, takesFrom } from './slot-role.ts';

/** Time in one Schedule that is to be booked. */
export interface Claim {
  /** The time of the appointment. */
  readonly interval: Interval;
  /** Ids of the Slots to be booked. */
  readonly slots: readonly string[];
  /** The services that it is for, if known. */
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
 * The Slots that prevent a booking although its own Slots are free: takings, and held Slots published for the same
 * place.
 *
 * @param slots - of the Schedule, at least those that overlap the time; Slots that the booking releases are left out
 * @returns empty if nothing prevents the booking
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
 * The published Slots that a booking withdraws: the free ones of its place that it overlaps. They are withdrawn in the
 * booking's transaction and so act as its lock: two bookings that exclude each other write the same Slots.
 *
 * @param slots - of the Schedule, at least all that overlap the time
 */
export function withdrawnWith(slots: readonly PlacedSlot[], { interval, slots: ids }: Claim): SlotChange[] {
  const { origins, places } = claimed(slots, ids);
  return slots
    .filter(({ resource, origin }) => resource.status === 'free' && !origins.has(origin))
    .filter((slot) => overlaps(slot, interval) && slot.role.kind === 'published' && places.has(slot.role.key.place))
    .map(({ id, resource }) => withdrawal(resource, id));
}
