import type { Appointment, BundleEntry, CodeableConcept, Slot, Task } from '@medplum/fhirtypes';
import {
  isBooked,
  isBuffer,
  isOverbooking,
  isTaken,
  type PlacedSlot,
  placedSlots,
  takesFrom,
} from '../../calendar/slots/slot-role.ts';
import { artefactUri, type BookingConfig } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { idIn } from '../../fhir/reference/reference.ts';
import { overlaps } from '../../time/interval.ts';
import { reasonOf } from '../appointment/cancelation-reason.ts';
import { hasEnded } from '../appointment/ended.ts';
import { slotIdsOf } from '../appointment/slot-use.ts';
import { holdsSlots, statusQuery } from '../appointment/status.ts';
import type { DeadlineConfig } from '../confirmation/deadline.ts';
import { search, searchUrl } from '../search.ts';

/** The part of the configuration that collisions depend on. */
export type CollisionConfig = DeadlineConfig & Pick<BookingConfig, 'timeZone'>;

/** Code of the Tasks of appointments whose time something else takes, in the CodeSystem LocalTask. */
export const COLLISION_TASK = 'collision';

/** An appointment, and the Slot that was written over its time. */
export interface Collision {
  readonly appointment: Appointment;
  readonly taking: PlacedSlot;
}

/**
 * The booked Slots whose time is taken by a Slot that was never offered, is not a buffer, and does not say that it is an
 * overbooking.
 *
 * @param slots - those of its Schedule that overlap it, itself included
 * @param offered - ids of those that were once free although nothing marks them
 * @param now - milliseconds since 1970 UTC: what has passed no longer collides
 */
export function slotsUnder(
  taking: Slot,
  slots: readonly Slot[],
  offered: ReadonlySet<string>,
  now: number,
  config: CollisionConfig,
): { readonly taking: PlacedSlot; readonly under: readonly PlacedSlot[] } | undefined {
  const placed = placedSlots(slots, offered, config);
  const own = placed.find(({ id }) => id === taking.id);
  const isTaking = own?.role.kind === 'taking' && isTaken(own.resource) && !isBuffer(own.resource);
  if (!own || !isTaking || own.end <= now || isOverbooking(taking, config)) {
    return undefined;
  }
  const services = (slot: PlacedSlot): readonly CodeableConcept[] => slot.resource.serviceType ?? [];
  const under = placed.filter(
    (slot) =>
      slot.id !== own.id && isBooked(slot.resource) && overlaps(slot, own) && takesFrom(own.resource, services(slot)),
  );
  return { taking: own, under };
}

/** The search for the appointments that hold some Slots. */
export function holdersUnder(slots: readonly PlacedSlot[]): BundleEntry {
  return search('Appointment', [
    ['slot', slots.map(({ id }) => `Slot/${id}`).join(',')],
    ['status', statusQuery(holdsSlots)],
    ['_count', '1000'],
  ]);
}

/** The appointments that lose their time to a Slot, except those that say that they are an overbooking. */
export function collisions(
  taking: PlacedSlot,
  appointments: readonly Appointment[],
  now: number,
  config: CollisionConfig,
): Collision[] {
  return appointments
    .filter((one) => holdsSlots(one) && !hasEnded(one, now, config) && !isOverbooking(one, config))
    .filter((one) => !slotIdsOf(one).includes(taking.id))
    .map((appointment) => ({ appointment, taking }));
}

/**
 * Whether an appointment gives way by itself: what the clinic books wins over a hold, and over a request that it has not
 * confirmed. A block may lie over both, and a confirmed appointment is a promise: in these cases a person decides.
 */
export function givesWay({ appointment: { status }, taking }: Collision): boolean {
  return taking.resource.status === 'busy' && (status === 'proposed' || status === 'pending');
}

/** An appointment that gives way, as it is stored: its reason says why. */
export function givenWay({ appointment }: Collision, config: CollisionConfig): Appointment {
  const text = 'The clinic has given the time to another appointment.';
  return { ...appointment, status: 'cancelled', cancelationReason: reasonOf('slot-not-free', text, config) };
}

/** The open Task of a collision, one for each appointment, from which staff learn what they have to decide. */
export function collisionTask({ appointment, taking }: Collision, config: CollisionConfig): BundleEntry {
  const code = { system: artefactUri(config, 'LocalTask'), code: COLLISION_TASK };
  const focus = { reference: `Appointment/${appointment.id}` };
  const patient = appointment.participant.map(({ actor }) => actor).find((actor) => idIn(actor, 'Patient'));
  const times = `${formatInstant(taking.start)} to ${formatInstant(taking.end)}`;
  const resource: Task = {
    resourceType: 'Task',
    status: 'requested',
    intent: 'order',
    priority: 'urgent',
    code: { coding: [code], text: 'Resolve a double booking' },
    description: `Slot/${taking.id} (${taking.resource.status}, ${times}) takes time of this appointment: move or cancel one of them.`,
    focus,
    ...(patient && { for: patient }),
    reasonReference: { reference: `Slot/${taking.id}` },
  };
  const ifNoneExist = searchUrl('Task', [
    ['code', `${code.system}|${code.code}`],
    ['focus', focus.reference],
    ['status', 'requested'],
  ]).replace('Task?', '');
  return { request: { method: 'POST', url: 'Task', ifNoneExist }, resource };
}
