import type { Appointment, CodeableConcept, Extension, Identifier, Slot } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant, timeOf } from '../fhir/instant.ts';
import { idIn, isSameService } from '../fhir/reference.ts';
import { canonicalJson } from '../fhir/resource.ts';
import { identifierIn, isBuffer, isMarked, publishedKeyOf } from '../fhir/scheduling/slot-marks.ts';
import { contains, type Interval, overlaps } from '../time/interval.ts';

/** The status of a Slot that an appointment occupies. */
export type TakenStatus = Extract<Slot['status'], 'busy' | 'busy-tentative'>;

/**
 * The possible uses of a Slot by an appointment, and the status that each use requires (`undefined`: any
 * status). If a Slot has several uses, the last one in this list wins.
 * @see specification section 3
 */
const slotUses = {
  /** The appointment was cancelled or entered in error: the Slot is no longer its own. */
  'given-back': undefined,
  held: undefined,
  requested: 'busy-tentative',
  confirmed: 'busy',
} as const satisfies Record<string, TakenStatus | undefined>;

/** The use of a Slot by an appointment. */
export type SlotUse = keyof typeof slotUses;

/** The uses of Slots by appointments, by Slot id. A Slot without an entry belongs to no appointment. */
export type SlotUses = ReadonlyMap<string, SlotUse>;

const strengthOf = (use: SlotUse): number => Object.keys(slotUses).indexOf(use);

/** The strongest of the uses that several appointments have for one Slot. */
export const strongestUse = (...uses: readonly (SlotUse | undefined)[]): SlotUse | undefined =>
  uses.filter((use) => use !== undefined).toSorted((one, other) => strengthOf(other) - strengthOf(one))[0];

/** Whether a Slot with this use belongs to an appointment, so that no other booking may have it. */
export const isHeld = (use: SlotUse | undefined): boolean => use !== undefined && use !== 'given-back';

/** The status that a Slot with this use must have; `undefined`: any status. */
export const slotStatusOf = (use: SlotUse | undefined): TakenStatus | undefined => use && slotUses[use];

/** The ids of the Slots that an appointment refers to. */
export function slotIdsOf(appointment: Pick<Appointment, 'slot'> | undefined): string[] {
  return (appointment?.slot ?? []).flatMap((reference) => idIn(reference, 'Slot') ?? []);
}

/**
 * The role of a Slot in its Schedule.
 *
 * - `bookable`: a bookable slot, whether free, booked, or withdrawn because its time is occupied. It takes time from
 *   its own lane only.
 * - `buffer`: time that a booking needs before or after it, in the same lane.
 * - `external`: an external busy slot, which was never bookable. It takes time from every lane, or from the lane in its
 *   mark.
 * - `ended`: a buffer or an external busy slot with the status entered-in-error.
 */
type SlotRole = 'bookable' | 'buffer' | 'external' | 'ended';

/**
 * The model of a Slot for the whole service. The marks on the resource hold role, lane and origin
 * (docs/calendar-model.md).
 */
export interface CalendarSlot extends Interval {
  /** A new Slot has the `urn:uuid:` of its transaction entry. */
  readonly id: string;
  /** The stored resource. A new part has the Slot that it was split off from; any other new Slot has itself. */
  readonly resource: Slot;
  readonly isNew: boolean;
  readonly status: Slot['status'];
  readonly role: SlotRole;
  readonly schedule: string;
  /** Id of the bookable slot that this Slot is a part of, or a buffer for. Unless it was split off, its own id. */
  readonly origin: string;
  /** Absent for an external busy slot of every lane, and for a manually created bookable slot without a lane. */
  readonly lane: string | undefined;
  /** The whole time of the bookable slot when nothing occupies it. A buffer has that of the slot that was booked. */
  readonly whole: Interval;
  readonly services: readonly CodeableConcept[] | undefined;
  /** Number of writes that only gave it a new version, as a lock (`settle`). */
  readonly revision: number;
  /** Whether somebody else than the service occupied it while it was free. */
  readonly isByHand: boolean;
  /** The number of appointments allowed at one time when it was booked (Medplum's stamp). Without a stamp: 1. */
  readonly capacity: number;
  readonly use: SlotUse | undefined;
}

/** Slots by id. Immutable: every operation returns a new calendar. */
export type Calendar = ReadonlyMap<string, CalendarSlot>;

/** The id of the booked Slot whose buffer a Slot is, if the service wrote it. */
export function bufferOf(slot: Slot, config: PublicConfig): string | undefined {
  return identifierIn(slot, artefactUri(config, 'LocalBuffer'));
}

/** Whether a Slot is booked, held for one person, or blocked. */
export function isTaken({ status }: Pick<Slot, 'status'>): boolean {
  return status !== 'free' && status !== 'entered-in-error';
}

/** Whether a Slot is occupied by an appointment or as if by one. A block (`busy-unavailable`) does not count. */
export function isBooked({ status }: Pick<Slot, 'status'>): boolean {
  return status === 'busy' || status === 'busy-tentative';
}

/** Medplum's stamp on a booked Slot. */
const CAPACITY = 'https://medplum.com/fhir/StructureDefinition/SchedulingSlotCapacity';

/** The number of appointments allowed at one time when a Slot was booked. */
export const capacityOf = ({ extension = [] }: Slot): number =>
  extension.find(({ url }) => url === CAPACITY)?.valuePositiveInt ?? 1;

/** The `LocalSlotOffer` extension: the whole time and services of a bookable slot that is busy or divided. */
interface SlotOfferMark {
  readonly period: Interval | undefined;
  readonly lane: string | undefined;
  readonly services: readonly CodeableConcept[];
  readonly revision: number;
  readonly isByHand: boolean;
}

/** Reads the mark of a Slot. Without the extension, or without a part of it, the default of that part applies. */
function slotOfferMark({ extension = [] }: Slot, config: PublicConfig): SlotOfferMark {
  const url = artefactUri(config, 'LocalSlotOffer');
  const mark = extension.find((one) => one.url === url);
  const partsNamed = (name: string): Extension[] => (mark?.extension ?? []).filter((part) => part.url === name);
  return {
    period: timeOf(partsNamed('period')[0]?.valuePeriod),
    lane: partsNamed('lane')[0]?.valueString,
    services: partsNamed('serviceType').flatMap(({ valueCodeableConcept }) => valueCodeableConcept ?? []),
    revision: partsNamed('revision')[0]?.valueUnsignedInt ?? 0,
    isByHand: partsNamed('byHand')[0]?.valueBoolean === true,
  };
}

/** The role of a stored Slot by its marks. Without marks a free Slot is bookable, and a taken one is external. */
function roleOf(slot: Slot, { period }: SlotOfferMark, config: PublicConfig): SlotRole {
  if (bufferOf(slot, config) !== undefined) {
    return slot.status === 'entered-in-error' ? 'ended' : 'buffer';
  }
  if (slot.status === 'entered-in-error') {
    return period ? 'bookable' : 'ended';
  }
  return slot.status === 'free' || isMarked(slot, config) ? 'bookable' : 'external';
}

/** Reads a Slot; `undefined` if it has no id or no readable times. */
export function calendarSlot(resource: Slot, config: PublicConfig, use?: SlotUse): CalendarSlot | undefined {
  const time = timeOf(resource);
  const { id, status } = resource;
  if (id === undefined || !time) {
    return undefined;
  }
  const mark = slotOfferMark(resource, config);
  const key = publishedKeyOf(resource, config);
  const role = roleOf(resource, mark, config);
  return {
    ...time,
    id,
    resource,
    isNew: false,
    status,
    role,
    schedule: idIn(resource.schedule, 'Schedule') ?? '',
    origin: identifierIn(resource, artefactUri(config, 'LocalSlotOrigin')) ?? id,
    lane: key?.kind === 'bookable' && role !== 'external' ? String(key.lane) : mark.lane,
    // If staff moved a part elsewhere, the Slot has the time that they gave it. A buffer lies beside the booked time.
    whole: mark.period && (role === 'buffer' || contains(mark.period, time)) ? mark.period : time,
    services: resource.serviceType ?? (mark.services.length > 0 ? mark.services : undefined),
    revision: mark.revision,
    isByHand: mark.isByHand && isTaken({ status }),
    capacity: capacityOf(resource),
    use,
  };
}

/** A Slot that is about to be stored, read like a stored one; `undefined` if its times cannot be read. */
export function newCalendarSlot(id: string, resource: Slot, config: PublicConfig): CalendarSlot | undefined {
  const slot = calendarSlot({ ...resource, id }, config);
  return slot && { ...slot, resource, isNew: true };
}

/** The calendar of stored Slots. Slots without readable times are left out: they neither provide nor occupy time. */
export function calendarOf(slots: readonly Slot[], config: PublicConfig, uses: SlotUses = new Map()): Calendar {
  const found = slots.flatMap((slot) => calendarSlot(slot, config, uses.get(slot.id ?? '')) ?? []);
  return new Map(found.map((slot) => [slot.id, slot]));
}

/** Whether a Slot occupies its time: by its status, or because an open appointment refers to it. */
export function occupies({ role, status, use }: CalendarSlot): boolean {
  return role !== 'ended' && (isTaken({ status }) || (status === 'free' && isHeld(use)));
}

/**
 * Whether a busy Slot takes time from some services; absent or empty means any service. An appointment and its buffers
 * take time from every service. A block (`busy-unavailable`) that names services takes time from these only.
 */
function takesFrom(external: Slot, services: readonly CodeableConcept[] | undefined): boolean {
  const { status, serviceType = [] } = external;
  if (status !== 'busy-unavailable' || isBuffer(external) || serviceType.length === 0) {
    return true;
  }
  const served = services ?? [];
  return served.length > 0 && served.every((service) => serviceType.some((taken) => isSameService(service, taken)));
}

/**
 * Whether two Slots belong to one lane. Manually created bookable slots that do not overlap share a lane. If such a
 * slot has no lane yet, it counts as sharing one, so that too much time is excluded rather than too little.
 */
function shareLane(slot: CalendarSlot, other: CalendarSlot): boolean {
  if (slot.origin === other.origin) {
    return true;
  }
  if (slot.lane !== undefined && other.lane !== undefined) {
    return slot.lane === other.lane;
  }
  const isPublished = ({ lane }: CalendarSlot): boolean => lane !== undefined && !lane.startsWith(BY_HAND);
  return !isPublished(slot) && !isPublished(other) && !overlaps(slot.whole, other.whole);
}

/** The prefix of the lanes of manually created bookable slots. It keeps them apart from published lanes. */
export const BY_HAND = 'hand-';

/** Whether a Slot takes its time from every lane. */
export const isInEveryLane = ({ role, lane }: CalendarSlot): boolean => role === 'external' && lane === undefined;

/** Whether a Slot takes time from a bookable slot, at whatever time: it is in the same lane, or in every lane. */
export function takesTimeOf(taken: CalendarSlot, bookable: CalendarSlot, services = bookable.services): boolean {
  if (taken.schedule !== bookable.schedule || taken.role === 'ended') {
    return false;
  }
  return isInEveryLane(taken) ? takesFrom(taken.resource, services) : shareLane(taken, bookable);
}

/** The marks of a Slot: identifiers and extensions that only the service writes. */
function marksOf({ identifier = [], extension = [] }: Slot, config: PublicConfig) {
  const systems = (['LocalPublishedSlot', 'LocalSlotOrigin', 'LocalBuffer'] as const).map((one) =>
    artefactUri(config, one),
  );
  const offered = artefactUri(config, 'LocalSlotOffer');
  return {
    identifier: identifier.filter(({ system = '' }) => systems.includes(system)),
    extension: extension.filter(({ url }) => url === offered),
  };
}

const noMarks: ReturnType<typeof marksOf> = { identifier: [], extension: [] };

/**
 * Whether a write of a Slot is based on a version from before its booking: it lacks marks that the service wrote since.
 */
export function isFromBeforeTaken(changed: Slot, stored: Slot, config: PublicConfig): boolean {
  const [storedMarks, sentMarks] = [marksOf(stored, config), marksOf(changed, config)];
  const sent = [...sentMarks.identifier, ...sentMarks.extension].map(canonicalJson);
  return [...storedMarks.identifier, ...storedMarks.extension].some((mark) => !sent.includes(canonicalJson(mark)));
}

/**
 * A Slot that another client is about to store, with the marks of the stored one, because only the service may change
 * them. A bookable slot that becomes busy gets its origin as a mark, so that it is recognised when it is free again.
 */
export function withMarks(changed: Slot, stored: Slot, config: PublicConfig): Slot {
  const earlier = calendarSlot(stored, config);
  const time = timeOf(changed);
  // A published slot that was moved elsewhere is an external busy slot. The published time is published again.
  const hasLeft =
    publishedKeyOf(stored, config) !== undefined &&
    isTaken(changed) &&
    time &&
    earlier &&
    !contains(earlier.whole, time);
  const [storedMarks, sentMarks] = [hasLeft ? noMarks : marksOf(stored, config), marksOf(changed, config)];
  const isBookable = earlier?.role === 'bookable' && !hasLeft;
  const origin = { system: artefactUri(config, 'LocalSlotOrigin'), value: stored.id ?? '' };
  const identifier = [
    ...(changed.identifier ?? []).filter((one) => !sentMarks.identifier.includes(one)),
    ...storedMarks.identifier,
    ...(isBookable && isTaken(changed) && !isMarked(stored, config) ? [origin] : []),
  ];
  const sentExtensions = (changed.extension ?? []).filter((one) => !sentMarks.extension.includes(one));
  const extension = [...sentExtensions, ...storedMarks.extension];
  const { identifier: _, extension: __, ...rest } = changed;
  const marked: Slot = {
    ...rest,
    ...(identifier.length > 0 && { identifier }),
    ...(extension.length > 0 && { extension }),
  };
  const slot = isBookable ? calendarSlot(marked, config) : undefined;
  const { start, end } = changed;
  const isByHand = slot?.isByHand || (!isTaken(stored) && isBooked(changed));
  const written =
    slot?.role === 'bookable' ? { ...bookableSlotResource({ ...slot, isByHand }, config), start, end } : marked;
  return canonicalJson(written) === canonicalJson(changed) ? changed : written;
}

/** A Slot that takes time from one lane although it was never bookable, as it is to be stored. */
export function takenInLane(slot: Slot, lane: string, config: PublicConfig): Slot {
  const url = artefactUri(config, 'LocalSlotOffer');
  const others = (slot.extension ?? []).filter((extension) => extension.url !== url);
  return { ...slot, extension: [...others, { url, extension: [{ url: 'lane', valueString: lane }] }] };
}

const copiedElements = ['schedule', 'serviceCategory', 'specialty', 'appointmentType'] as const;

/** The mark of a buffer: the lane and the whole time of the bookable slot that was booked. */
export function slotOfferExtensionOf({ whole, lane }: CalendarSlot, config: PublicConfig): Extension {
  const period = { start: formatInstant(whole.start), end: formatInstant(whole.end) };
  return {
    url: artefactUri(config, 'LocalSlotOffer'),
    extension: [
      { url: 'period', valuePeriod: period },
      ...(lane === undefined ? [] : [{ url: 'lane', valueString: lane }]),
    ],
  };
}

/** The mark of a bookable slot as it is stored; `undefined` if the Slot itself says everything. */
function slotOfferMarkExtension(slot: CalendarSlot, config: PublicConfig): Extension | undefined {
  const { start, end, whole, status, role, lane, services = [], revision, isByHand, resource, isNew } = slot;
  const isPart = whole.start !== start || whole.end !== end || status === 'entered-in-error';
  const isPublished = !isNew && publishedKeyOf(resource, config)?.kind === 'bookable';
  const parts: Extension[] = [
    ...(isPart
      ? [{ url: 'period', valuePeriod: { start: formatInstant(whole.start), end: formatInstant(whole.end) } }]
      : []),
    ...(lane !== undefined && !isPublished ? [{ url: 'lane', valueString: lane }] : []),
    ...(isTaken({ status })
      ? services.map((valueCodeableConcept): Extension => ({ url: 'serviceType', valueCodeableConcept }))
      : []),
    ...(revision > 0 ? [{ url: 'revision', valueUnsignedInt: revision }] : []),
    ...(isByHand && isTaken({ status }) ? [{ url: 'byHand', valueBoolean: true }] : []),
  ];
  return role === 'bookable' && parts.length > 0
    ? { url: artefactUri(config, 'LocalSlotOffer'), extension: parts }
    : undefined;
}

/** A busy bookable slot and a part of one name their origin, which distinguishes them from external busy slots. */
function identifiersOf({ resource, origin, status, isNew, id }: CalendarSlot, config: PublicConfig): Identifier[] {
  const system = artefactUri(config, 'LocalSlotOrigin');
  if (isNew) {
    return [{ system, value: origin }];
  }
  const { identifier = [] } = resource;
  const needsMark = isTaken({ status }) || origin !== id;
  return needsMark && !isMarked(resource, config) ? [...identifier, { system, value: origin }] : identifier;
}

/**
 * A bookable slot as it is stored. While it is busy, its services are in its mark and not in `serviceType`: newer
 * versions of Medplum read a busy Slot with a `serviceType` as occupied for that service only.
 */
export function bookableSlotResource(slot: CalendarSlot, config: PublicConfig): Slot {
  const { resource, isNew, status, start, end, services, id, origin, capacity } = slot;
  if (isNew && id === origin) {
    return { ...resource, status, start: formatInstant(start), end: formatInstant(end) };
  }
  const offered = artefactUri(config, 'LocalSlotOffer');
  const mark = slotOfferMarkExtension(slot, config);
  const payers = artefactUri(config, 'LocalPayerKind');
  const kept = (resource.extension ?? []).filter(({ url }) =>
    isNew ? url === payers : url !== offered && url !== CAPACITY,
  );
  const isStamped = capacity > 1 && isBooked({ status });
  const stamp = isStamped ? [{ url: CAPACITY, valuePositiveInt: capacity }] : [];
  const extension = [...kept, ...stamp, ...(mark ? [mark] : [])];
  const identifier = identifiersOf(slot, config);
  const { serviceType: _, extension: __, identifier: ___, meta, ...elements } = resource;
  const common = Object.fromEntries(
    copiedElements.filter((name) => resource[name] !== undefined).map((name) => [name, resource[name]]),
  );
  const { profile, tag } = meta ?? {};
  // A Slot that replaces a deleted one is tagged with the deleted id; its parts are not.
  const originSystem = artefactUri(config, 'LocalSlotOrigin');
  const tags = tag?.filter((coding) => coding.system !== originSystem || coding.code === resource.id);
  const base: Omit<Slot, 'status' | 'start' | 'end'> = isNew
    ? {
        resourceType: 'Slot',
        schedule: resource.schedule,
        ...common,
        ...((profile || tags?.length) && { meta: { ...(profile && { profile }), ...(tags?.length && { tag: tags }) } }),
      }
    : { ...elements, ...(meta && { meta }) };
  return {
    ...base,
    ...(extension.length > 0 && { extension }),
    ...(identifier.length > 0 && { identifier }),
    ...(services?.length && !isTaken({ status }) && { serviceType: [...services] }),
    status,
    start: formatInstant(start),
    end: formatInstant(end),
  };
}
