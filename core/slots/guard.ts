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
 * What must not lie at a time that is about to be taken.
 *
 * - `nothing`: a block may lie over appointments.
 * - `reservations`: a new Slot, which is judged with the appointment that names it.
 * - `appointments`: a Slot that was bookable.
 * - `everything`: an appointment.
 */
type Against = 'nothing' | 'reservations' | 'appointments' | 'everything';

/** Time that somebody other than the service is about to take in Medplum. */
export interface ExternalSlot extends Interval {
  /** Where from: an offer, whose lane alone loses the time, or a Slot that takes it from every lane. */
  readonly from: CalendarSlot;
  /** Id of a bookable Slot of the lane that it takes its time from, if it is itself none of that lane. */
  readonly lane?: string;
  readonly against: Against;
  /** The service types by which it needs time around it; absent: it needs none. */
  readonly types?: readonly CodeableConcept[];
}

/** What a taking means for the Slots of its Schedule. */
interface ExternalSlotPlan {
  /** What already takes its time, if anything does. */
  readonly conflict: CalendarSlot | undefined;
  /** The offers that it excludes: each is written with the intent before the taking is stored. */
  readonly excluded: readonly CalendarSlot[];
}

/**
 * Decides about time that is about to be taken past the service: what is booked already refuses it, and every offer that it
 * excludes must be written first, so that a simultaneous booking fails, or is seen.
 *
 * @param calendar - the Slots of the Schedule, at least those within reach of the time; those of ended holds are free
 * @param own - ids of the Slots of the same act: their writer may be about to write them, in the transaction that is being
 *   checked, or gives them back in it
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
  const others = [...calendar.values()].filter((slot) => !isOwn(slot));
  const counts = (slot: CalendarSlot): boolean =>
    against === 'everything' || (against === 'appointments' && (isBooked(slot) || isBuffer(slot.resource)));
  const conflict = others.find(
    (slot) => occupies(slot) && counts(slot) && overlaps(slot, external) && excludes(from, slot),
  );
  const excluded = others.filter((slot) => {
    const { before, after, services } = termsOf(slot);
    const around = { start: external.start - after, end: external.end + before };
    // What lies under a block is written, too: its time must not come back while the block is being stored.
    const mayComeBack =
      !isTaken(slot) || (against === 'nothing' && overlaps(slot, external) && isByService(slot.resource.meta, config));
    return slot.role === 'offer' && mayComeBack && overlaps(slot, around) && takesTimeOf(from, slot, services);
  });
  return { conflict, excluded };
}

/**
 * What is about to be taken, with the lane that it takes its time from, if it takes only one: that of its Slot, as it is stored
 * or reserved; of a new Slot that is stamped with a capacity, one in which nothing is in its way.
 *
 * @param reserved - the time that others have reserved
 * @param ownLanes - the lanes in which the same act has reserved its new Slots, by their ids
 */
export function inLane(
  external: ExternalSlot,
  calendar: Calendar,
  reserved: readonly CalendarSlot[],
  ownLanes: ReadonlyMap<string, string>,
): ExternalSlot {
  const { from } = external;
  if (from.role !== 'external') {
    return external;
  }
  const others = [...calendar.values(), ...reserved].filter((slot) => occupies(slot) && overlaps(slot, external));
  const lanes = [...calendar.values()].filter((slot) => slot.role === 'offer' && overlaps(slot, external));
  const isOpen = (slot: CalendarSlot): boolean =>
    slot.status === 'free' && !others.some((other) => excludes(slot, other));
  const own = from.lane ?? calendar.get(ownLanes.get(from.id) ?? '')?.lane;
  const lane = lanes.find((slot) =>
    own === undefined ? from.capacity > 1 && slot.lane !== undefined && isOpen(slot) : slot.lane === own,
  );
  const name = own ?? lane?.lane;
  return name === undefined ? external : { ...external, from: { ...from, lane: name }, ...(lane && { lane: lane.id }) };
}

/** Whether what is taken from one Slot could already be taken by another: of its lane, or of every lane. */
export function excludes(from: CalendarSlot, taken: CalendarSlot): boolean {
  return isInEveryLane(taken) ? takesTimeOf(taken, from) : takesTimeOf(from, taken);
}

/**
 * Whether a Slot that never was on offer gives its time back when somebody sets it free, or does so once more: an offer of
 * its own beside those that it was taken from would sell that time twice. Where there are none it becomes an offer.
 *
 * @param opened - as it is about to be stored
 * @param calendar - the Slots around it
 */
export function givesBack(external: CalendarSlot, opened: Slot, calendar: Calendar, config: PublicConfig): boolean {
  const time = newCalendarSlot(external.id, opened, config);
  const isVoid = external.role === 'void' && external.lane === undefined;
  const from = isVoid ? externalBusySlot(external.schedule, external, external.resource) : external;
  const isUnder = (slot: CalendarSlot): boolean =>
    slot.role === 'offer' &&
    slot.id !== external.id &&
    time !== undefined &&
    overlaps(slot.whole, time) &&
    takesTimeOf(from, slot);
  const isOurs =
    bufferOf(external.resource, config) !== undefined || publishedKeyOf(external.resource, config)?.kind === 'closed';
  return isOurs || (from.role === 'external' && [...calendar.values()].some(isUnder));
}

/** Time that is about to be taken from every lane of a Schedule, for which there is no Slot yet. */
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

/** A Slot that is about to take time from every lane, as if it were stored. */
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
