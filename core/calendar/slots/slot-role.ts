import type { Appointment, CodeableConcept, Schedule, Slot } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { parseInstant } from '../../fhir/instant.ts';
import { serviceIdOf } from '../../fhir/reference/service-reference.ts';
import type { Interval } from '../../time/interval.ts';
import { type PublishedKey, parseKey } from './published-slot.ts';

/**
 * What a Slot is in its Schedule.
 *
 * - `offer`: created by hand to be booked, or a fragment of such a Slot. Free or taken, it is a place of its own.
 * - `published`: made from the opening hours. Published Slots of the same place exclude each other.
 * - `taking`: never offered. It takes time from every place.
 * - `none`: entered in error.
 */
export type SlotRole =
  | { readonly kind: 'offer' }
  | { readonly kind: 'published'; readonly key: PublishedKey & { readonly kind: 'offer' } }
  | { readonly kind: 'taking' }
  | { readonly kind: 'none' };

type RoleConfig = ArtefactConfig;

/** A stored Slot with readable times and its role. */
export interface PlacedSlot extends Interval {
  readonly id: string;
  readonly resource: Slot;
  readonly role: SlotRole;
  /** Id of the Slot that it was split off from, or its own. */
  readonly origin: string;
}

function identifierIn({ identifier = [] }: Slot, wanted: string): string | undefined {
  return identifier.find(({ system }) => system === wanted)?.value;
}

/** The identifier under which a Slot was published, if it was. */
export function publishedValueOf(slot: Slot, config: RoleConfig): string | undefined {
  return identifierIn(slot, artefactUri(config, 'LocalPublishedSlot'));
}

/** What a Slot was published as, if it was. */
export function publishedKeyOf(slot: Slot, config: RoleConfig): PublishedKey | undefined {
  return parseKey(publishedValueOf(slot, config) ?? '');
}

/** The id of the Slot from which this one was split off, or its own. */
export function originOf(slot: Slot, config: RoleConfig): string | undefined {
  return identifierIn(slot, artefactUri(config, 'LocalSlotOrigin')) ?? slot.id;
}

/**
 * Whether only its history can tell if a Slot was ever offered: it is taken, and has none of the marks that the service
 * leaves on offers when it publishes, splits or takes them.
 */
export function isUnmarked(slot: Slot, config: RoleConfig): boolean {
  const isMarked =
    identifierIn(slot, artefactUri(config, 'LocalSlotOrigin')) !== undefined ||
    publishedKeyOf(slot, config) !== undefined ||
    (slot.meta?.tag ?? []).some(({ system }) => system === artefactUri(config, 'LocalSlotOrigin'));
  return isTaken(slot) && !isMarked;
}

/** Whether a Slot is booked, held or blocked. */
export function isTaken({ status }: Slot): boolean {
  return status !== 'free' && status !== 'entered-in-error';
}

/** Whether a Slot is taken by an appointment, or as if by one; a block does not count. */
export function isBooked({ status }: Slot): boolean {
  return status === 'busy' || status === 'busy-tentative';
}

/**
 * Whether a Slot or an appointment says that it deliberately takes time that is already taken (extension
 * LocalOverbooking).
 */
export function isOverbooking({ extension = [] }: Appointment | Slot, config: ArtefactConfig): boolean {
  const url = artefactUri(config, 'LocalOverbooking');
  return extension.some((one) => one.url === url && one.valueBoolean === true);
}

function roleOf(slot: Slot, wasOffered: boolean, config: RoleConfig): SlotRole {
  const key = publishedKeyOf(slot, config);
  if (key?.kind === 'offer') {
    return { kind: 'published', key };
  }
  if (slot.status === 'entered-in-error') {
    return { kind: 'none' };
  }
  if (bufferOf(slot, config) !== undefined) {
    return { kind: 'taking' };
  }
  const isClosedDay = key?.kind === 'closed' && slot.status !== 'free';
  return { kind: isClosedDay || (isUnmarked(slot, config) && !wasOffered) ? 'taking' : 'offer' };
}

function belongsToOrigin({ role, resource }: PlacedSlot, config: ArtefactConfig): boolean {
  return role.kind === 'offer' || bufferOf(resource, config) !== undefined;
}

/**
 * The Slots of one Schedule with their roles. Slots without readable times are left out: they neither offer nor take
 * anything.
 *
 * @param slots - as stored, in any order
 * @param offered - ids of the unmarked Slots (`isUnmarked`) that were once free, as their history shows
 */
export function placedSlots(slots: readonly Slot[], offered: ReadonlySet<string>, config: RoleConfig): PlacedSlot[] {
  const placed = slots.flatMap((resource): PlacedSlot[] => {
    const [start, end] = [parseInstant(resource.start), parseInstant(resource.end)];
    const [id, origin] = [resource.id, originOf(resource, config)];
    return id === undefined || origin === undefined || start === undefined || end === undefined || start >= end
      ? []
      : [{ id, start, end, origin, resource, role: roleOf(resource, offered.has(id), config) }];
  });
  // A fragment of a published Slot belongs to its place, and so do the buffers of its booking.
  const published = new Map(placed.flatMap(({ id, role }) => (role.kind === 'published' ? [[id, role]] : [])));
  return placed.map((slot) => ({
    ...slot,
    role: (belongsToOrigin(slot, config) && published.get(slot.origin)) || slot.role,
  }));
}

/** Whether two service types name the same HealthcareService, or have a code in common. */
export function isSameService(one: CodeableConcept, other: CodeableConcept): boolean {
  const [id, otherId] = [serviceIdOf(one), serviceIdOf(other)];
  const codings = other.coding ?? [];
  return (
    (id !== undefined && id === otherId) ||
    (one.coding ?? []).some(({ system, code }) =>
      codings.some((coding) => coding.system === system && coding.code === code),
    )
  );
}

/** How Medplum's `$find` names the buffers of an appointment. */
export const BUFFER_COMMENTS = { before: 'buffer before appointment', after: 'buffer after appointment' } as const;

const bufferComments: ReadonlySet<string | undefined> = new Set(Object.values(BUFFER_COMMENTS));

/** The id of the booked Slot whose buffer a Slot is, if the service has written it. */
export function bufferOf(slot: Slot, config: ArtefactConfig): string | undefined {
  return identifierIn(slot, artefactUri(config, 'LocalBuffer'));
}

/** Whether a Slot is a buffer, written by the service, for one of some booked Slots. */
export function isBufferOf(slot: Slot, booked: readonly string[], config: ArtefactConfig): boolean {
  const id = bufferOf(slot, config);
  return id !== undefined && booked.includes(id);
}

/** Whether a Slot is the buffer of an appointment: time that its Schedule needs, whatever the service. */
export function isBuffer({ status, comment }: Slot): boolean {
  return status === 'busy-unavailable' && bufferComments.has(comment);
}

/**
 * Whether a taking takes time from a service. An appointment takes time from every service, and so do its buffers; a
 * block (`busy-unavailable`) that names services takes time from these only.
 *
 * @param services - what is offered; empty means any service
 */
export function takesFrom(taking: Slot, services: readonly CodeableConcept[] | undefined): boolean {
  const { status, serviceType = [] } = taking;
  if (status !== 'busy-unavailable' || isBuffer(taking) || serviceType.length === 0) {
    return true;
  }
  const offered = services ?? [];
  return offered.length > 0 && offered.every((service) => serviceType.some((taken) => isSameService(service, taken)));
}

/** What a Slot offers: its own services, else those of its Schedule. */
export function servicesOffered(slot: Slot, schedule: Schedule): readonly CodeableConcept[] | undefined {
  return slot.serviceType?.length ? slot.serviceType : schedule.serviceType;
}
