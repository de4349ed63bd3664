import type { CodeableConcept, Slot } from '@medplum/fhirtypes';
import type { BookingConfig } from '../config/config.ts';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant } from '../fhir/instant.ts';
import { isBuffer, publishedKeyOf } from '../fhir/scheduling/slot-marks.ts';
import { isByService } from '../fhir/tags.ts';
import { type Interval, overlaps } from '../time/interval.ts';
import {
  bufferOf,
  type Calendar,
  type CalendarSlot,
  capacityOf,
  isBooked,
  isInEveryLane,
  isTaken,
  newCalendarSlot,
  occupies,
  takesTimeOf,
} from './slot.ts';
import type { TermsOf } from './terms.ts';

/**
 * The busy time that an external busy slot must not overlap.
 *
 * - `nothing`: a block may lie over appointments.
 * - `reservations`: a new Slot, which is checked with the appointment that names it.
 * - `appointments`: a Slot that was bookable.
 * - `everything`: an appointment.
 */
type Against = 'nothing' | 'reservations' | 'appointments' | 'everything';

/** Time that another client than the service is about to occupy in Medplum. */
export interface ExternalSlot extends Interval {
  /** A bookable slot, whose lane alone loses the time, or an external busy slot. */
  readonly from: CalendarSlot;
  /** Id of a bookable Slot of the lane that loses the time, if `from` itself is not in that lane. */
  readonly laneSlotId?: string;
  readonly against: Against;
  /** The service types that determine its buffers; absent: it needs none. */
  readonly types?: readonly CodeableConcept[];
}

interface ExternalSlotPlan {
  readonly conflict: CalendarSlot | undefined;
  /** The bookable slots that it excludes, to be written with the reservation before it is stored. */
  readonly excluded: readonly CalendarSlot[];
}

/**
 * Plans the reservation of time that another client is about to occupy in Medplum. Busy time (`against`) is a conflict.
 * The bookable slots that it excludes must be written first, so that a simultaneous booking fails or is noticed.
 * @param calendar - the Slots of the Schedule within reach of the time, or more; expired personal offers are free
 * @param own - ids of the Slots of the same act: the transaction that is being checked writes or releases them
 */
export function planExternalSlot(
  external: ExternalSlot,
  calendar: Calendar,
  own: ReadonlySet<string>,
  termsOf: TermsOf,
  config: BookingConfig,
): ExternalSlotPlan {
  const { from, against } = external;
  const isOwn = ({ id, resource }: CalendarSlot): boolean =>
    [id, bufferOf(resource, config)].some((one) => one !== undefined && (one === from.id || own.has(one)));
  const foreign = [...calendar.values()].filter((slot) => !isOwn(slot));
  const counts = (slot: CalendarSlot): boolean =>
    against === 'everything' || (against === 'appointments' && (isBooked(slot) || isBuffer(slot.resource)));
  const conflict = foreign.find(
    (slot) => occupies(slot) && counts(slot) && overlaps(slot, external) && excludes(from, slot),
  );
  const excluded = foreign.filter((slot) => {
    const { before, after, services } = termsOf(slot);
    const around = { start: external.start - after, end: external.end + before };
    // A bookable slot under a block is written, too: it must not become free while the block is being stored.
    const mayComeBack =
      !isTaken(slot) || (against === 'nothing' && overlaps(slot, external) && isByService(slot.resource.meta, config));
    return slot.role === 'bookable' && mayComeBack && overlaps(slot, around) && takesTimeOf(from, slot, services);
  });
  return { conflict, excluded };
}

/**
 * Gives an external busy slot its lane: the one that it has or has reserved; else, if its Slot has a capacity above 1, the
 * first one that is open. A slot without a lane takes time from every lane.
 * @param reservedLanes - ids of bookable Slots in whose lanes time is reserved, by id of the new Slot of the same act
 */
export function withLane(
  external: ExternalSlot,
  calendar: Calendar,
  reserved: readonly CalendarSlot[],
  reservedLanes: ReadonlyMap<string, string>,
): ExternalSlot {
  const { from } = external;
  if (from.role !== 'external') {
    return external;
  }
  const busy = [...calendar.values(), ...reserved].filter((slot) => occupies(slot) && overlaps(slot, external));
  const bookable = [...calendar.values()].filter((slot) => slot.role === 'bookable' && overlaps(slot, external));
  const isOpen = (slot: CalendarSlot): boolean =>
    slot.status === 'free' && !busy.some((other) => excludes(slot, other));
  const givenLane = from.lane ?? calendar.get(reservedLanes.get(from.id) ?? '')?.lane;
  const slotOfLane = bookable.find((slot) =>
    givenLane === undefined ? from.capacity > 1 && slot.lane !== undefined && isOpen(slot) : slot.lane === givenLane,
  );
  const lane = givenLane ?? slotOfLane?.lane;
  return lane === undefined
    ? external
    : { ...external, from: { ...from, lane }, ...(slotOfLane && { laneSlotId: slotOfLane.id }) };
}

/** Whether a Slot conflicts with a busy one: they are in the same lane, or one of them takes time from every lane. */
export function excludes(from: CalendarSlot, taken: CalendarSlot): boolean {
  return isInEveryLane(taken) ? takesTimeOf(taken, from) : takesTimeOf(from, taken);
}

/**
 * Whether an external busy slot that is set to `free` only releases its time and ends, also when that is repeated: as a
 * bookable slot it would offer the time of the bookable slots under it twice. If `false`, it becomes a bookable slot.
 * @param opened - the Slot that is about to be stored
 */
export function givesBack(external: CalendarSlot, opened: Slot, calendar: Calendar, config: PublicConfig): boolean {
  const time = newCalendarSlot(external.id, opened, config);
  const isEndedInEveryLane = external.role === 'ended' && external.lane === undefined;
  const from = isEndedInEveryLane ? externalBusySlot(external.schedule, external, external.resource) : external;
  const isUnder = (slot: CalendarSlot): boolean =>
    slot.role === 'bookable' &&
    slot.id !== external.id &&
    time !== undefined &&
    overlaps(slot.whole, time) &&
    takesTimeOf(from, slot);
  const isOfService =
    bufferOf(external.resource, config) !== undefined || publishedKeyOf(external.resource, config)?.kind === 'closed';
  return isOfService || (from.role === 'external' && [...calendar.values()].some(isUnder));
}

/** A new external busy slot of every lane of a Schedule. */
export function newExternalSlot(
  schedule: string,
  time: Interval,
  more: Pick<Slot, 'status'> & Pick<Partial<Slot>, 'id' | 'comment' | 'extension'>,
): CalendarSlot {
  return externalBusySlot(schedule, time, {
    resourceType: 'Slot',
    schedule: { reference: `Schedule/${schedule}` },
    start: formatInstant(time.start),
    end: formatInstant(time.end),
    ...more,
  });
}

/** A Slot resource as an external busy slot of every lane. */
export function externalBusySlot(
  schedule: string,
  { start, end }: Interval,
  resource: CalendarSlot['resource'],
): CalendarSlot {
  const time = { start, end };
  const id = resource.id ?? '';
  return {
    ...time,
    id,
    resource,
    isNew: true,
    status: resource.status,
    role: 'external',
    schedule,
    origin: id,
    lane: undefined,
    whole: time,
    services: undefined,
    revision: 0,
    isByHand: false,
    capacity: capacityOf(resource),
    use: undefined,
  };
}
