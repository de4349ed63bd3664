import type { Appointment, CodeableConcept, Extension, Identifier, Slot } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant, timeOf } from '../fhir/instant.ts';
import { canonicalJson } from '../fhir/json.ts';
import { idIn, isSameService } from '../fhir/reference.ts';
import { identifierIn, isBuffer, isMarked, publishedKeyOf } from '../fhir/scheduling/slot-marks.ts';
import { contains, type Interval, overlaps } from '../time/interval.ts';

/** The status of a Slot that is taken for an appointment. */
export type TakenStatus = Extract<Slot['status'], 'busy' | 'busy-tentative'>;

/**
 * How an appointment can use the Slots that it refers to, and the status that they must have, where not any will do. Of
 * several uses of one Slot the last in this list counts.
 *
 * @see specification section 3
 */
const slotUses = {
  /** The appointment was cancelled or is void: it has given the Slot back. */
  'given-back': undefined,
  /** The Slot belongs to the appointment, whatever its status. */
  held: undefined,
  /** The appointment waits for the clinic. */
  requested: 'busy-tentative',
  /** The appointment is confirmed. */
  confirmed: 'busy',
} as const satisfies Record<string, TakenStatus | undefined>;

/** How an appointment uses the Slots that it refers to. */
export type SlotUse = keyof typeof slotUses;

/** How appointments use Slots, by Slot id; one without an entry is not referred to. */
export type SlotUses = ReadonlyMap<string, SlotUse>;

const strengthOf = (use: SlotUse): number => Object.keys(slotUses).indexOf(use);

/** Of the uses that several appointments have for one Slot, the strongest. */
export const strongestUse = (...uses: readonly (SlotUse | undefined)[]): SlotUse | undefined =>
  uses.filter((use) => use !== undefined).toSorted((one, other) => strengthOf(other) - strengthOf(one))[0];

/** Whether a Slot with this use belongs to an appointment, so that no other booking may take it. */
export const isHeld = (use: SlotUse | undefined): boolean => use !== undefined && use !== 'given-back';

/** The status that a Slot with this use must have; `undefined` where any will do. */
export const slotStatusOf = (use: SlotUse | undefined): TakenStatus | undefined => use && slotUses[use];

/** The ids of the Slots that an appointment refers to. */
export function slotIdsOf(appointment: Pick<Appointment, 'slot'> | undefined): string[] {
  return (appointment?.slot ?? []).flatMap((reference) => idIn(reference, 'Slot') ?? []);
}

/**
 * What a Slot is in its Schedule.
 *
 * - `offer`: free, or taken, or withdrawn because its time is taken. It has a lane, and takes time from that lane only.
 * - `buffer`: time that a booking needs around it, at its lane.
 * - `external`: never offered. It takes time from every lane, or from the one that its stamp has given it.
 * - `void`: entered in error.
 */
type SlotRole = 'offer' | 'buffer' | 'external' | 'void';

/**
 * A Slot as the rules see it: the one model of a Slot, for the calendar, bookings, notifications, pages and the check of
 * consistency. What it is stands in its own marks (docs/calendar-model.md).
 */
export interface CalendarSlot extends Interval {
  /** For a new one the `urn:uuid:` of its transaction entry. */
  readonly id: string;
  /** As it is stored; of a new part, the Slot that it is split off from; of another new one, itself. */
  readonly resource: Slot;
  readonly isNew: boolean;
  readonly status: Slot['status'];
  readonly role: SlotRole;
  /** Id of its Schedule. */
  readonly schedule: string;
  /** Id of the offer that it is a part of, or a buffer for: its own, unless it was split off. */
  readonly origin: string;
  /** The lane whose time it takes or offers; absent for a taking of every lane, and for an offer made by hand that has none yet. */
  readonly lane: string | undefined;
  /** The whole time that the offer, or that of a buffer, offers where nothing takes it. */
  readonly whole: Interval;
  /** The services that it is for. */
  readonly services: readonly CodeableConcept[] | undefined;
  /** How often it was written only so that it has a new version (`settle`). */
  readonly revision: number;
  /** Whether somebody else than the service took it while it was free. */
  readonly isByHand: boolean;
  /** As how many at one time it was booked, as Medplum stamps it; a Slot without a stamp is alone. */
  readonly capacity: number;
  /** How appointments that refer to it use it, where that is known. */
  readonly use: SlotUse | undefined;
}

/** Slots by id. Immutable: every operation returns a new calendar. */
export type Calendar = ReadonlyMap<string, CalendarSlot>;

/** The id of the booked Slot whose buffer a Slot is, if the service has written it. */
export function bufferOf(slot: Slot, config: PublicConfig): string | undefined {
  return identifierIn(slot, artefactUri(config, 'LocalBuffer'));
}

/** Whether a Slot is booked, held or blocked. */
export function isTaken({ status }: Pick<Slot, 'status'>): boolean {
  return status !== 'free' && status !== 'entered-in-error';
}

/** Whether a Slot is taken by an appointment, or as if by one; a block does not count. */
export function isBooked({ status }: Pick<Slot, 'status'>): boolean {
  return status === 'busy' || status === 'busy-tentative';
}

/** Medplum's stamp on a booked Slot: as how many at one time it was booked. */
const CAPACITY = 'https://medplum.com/fhir/StructureDefinition/SchedulingSlotCapacity';

/** As how many at one time a Slot was booked. */
export const capacityOf = ({ extension = [] }: Slot): number =>
  extension.find(({ url }) => url === CAPACITY)?.valuePositiveInt ?? 1;

/** The extension that says what a Slot offers where its own elements do not: while its time is taken, or in part. */
interface SlotOfferMark {
  readonly period: Interval | undefined;
  readonly lane: string | undefined;
  readonly services: readonly CodeableConcept[];
  readonly revision: number;
  readonly isByHand: boolean;
}

function offeredMark({ extension = [] }: Slot, config: PublicConfig): SlotOfferMark {
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

function roleOf(slot: Slot, { period }: SlotOfferMark, config: PublicConfig): SlotRole {
  if (bufferOf(slot, config) !== undefined) {
    return slot.status === 'entered-in-error' ? 'void' : 'buffer';
  }
  if (slot.status === 'entered-in-error') {
    return period ? 'offer' : 'void';
  }
  return slot.status === 'free' || isMarked(slot, config) ? 'offer' : 'external';
}

/** A Slot as the rules see it, or `undefined` if its times cannot be read. */
export function calendarSlot(resource: Slot, config: PublicConfig, use?: SlotUse): CalendarSlot | undefined {
  const time = timeOf(resource);
  const { id, status } = resource;
  if (id === undefined || !time) {
    return undefined;
  }
  const mark = offeredMark(resource, config);
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
    lane: key?.kind === 'offer' && role !== 'external' ? String(key.lane) : mark.lane,
    // If a piece was moved elsewhere by hand, the offer is what staff made of it. A buffer lies beside what was booked.
    whole: mark.period && (role === 'buffer' || contains(mark.period, time)) ? mark.period : time,
    services: resource.serviceType ?? (mark.services.length > 0 ? mark.services : undefined),
    revision: mark.revision,
    isByHand: mark.isByHand && isTaken({ status }),
    capacity: capacityOf(resource),
    use,
  };
}

/** A Slot that is about to be stored, as if it were stored already; `undefined` if its times cannot be read. */
export function newCalendarSlot(id: string, resource: Slot, config: PublicConfig): CalendarSlot | undefined {
  const slot = calendarSlot({ ...resource, id }, config);
  return slot && { ...slot, resource, isNew: true };
}

/**
 * The calendar of stored Slots. Those without readable times are left out: they neither offer nor take anything.
 *
 * @param uses - how appointments refer to the slots, where that is known
 */
export function calendarOf(slots: readonly Slot[], config: PublicConfig, uses: SlotUses = new Map()): Calendar {
  const found = slots.flatMap((slot) => calendarSlot(slot, config, uses.get(slot.id ?? '')) ?? []);
  return new Map(found.map((slot) => [slot.id, slot]));
}

/** Whether something takes the time of a Slot: its status says so, or an open appointment refers to it. */
export function occupies({ role, status, use }: CalendarSlot): boolean {
  return role !== 'void' && (isTaken({ status }) || (status === 'free' && isHeld(use)));
}

/**
 * Whether a taking takes time from a service. An appointment takes time from every service, and so do its buffers; a
 * block (`busy-unavailable`) that names services takes time from these only.
 *
 * @param services - what is offered; empty means any service
 */
function takesFrom(external: Slot, services: readonly CodeableConcept[] | undefined): boolean {
  const { status, serviceType = [] } = external;
  if (status !== 'busy-unavailable' || isBuffer(external) || serviceType.length === 0) {
    return true;
  }
  const offered = services ?? [];
  return offered.length > 0 && offered.every((service) => serviceType.some((taken) => isSameService(service, taken)));
}

/**
 * Whether two Slots belong to one place. Offers made by hand that do not overlap share a place: those that have none yet
 * are taken for neighbours, which is never too little.
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

/** How the lanes of offers made by hand begin: they are apart from those of published ones. */
export const BY_HAND = 'hand-';

/** Whether a Slot takes its time from every lane. */
export const isInEveryLane = ({ role, lane }: CalendarSlot): boolean => role === 'external' && lane === undefined;

/**
 * Whether a Slot, wherever it lies, takes time from an offer: it is at the same lane, or takes time from every lane.
 *
 * @param services - what the offer is for; by default what it says itself
 */
export function takesTimeOf(taken: CalendarSlot, offer: CalendarSlot, services = offer.services): boolean {
  if (taken.schedule !== offer.schedule || taken.role === 'void') {
    return false;
  }
  return isInEveryLane(taken) ? takesFrom(taken.resource, services) : shareLane(taken, offer);
}

/** The marks of a Slot: what only the service writes on it. */
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
 * Whether what somebody is about to store was made from a version of the Slot before it was taken: it lacks what the service
 * has written on it since.
 */
export function isFromBeforeTaken(changed: Slot, stored: Slot, config: PublicConfig): boolean {
  const [own, kept] = [marksOf(stored, config), marksOf(changed, config)];
  const isMissing = (all: readonly object[]) => (one: object) =>
    !all.some((other) => canonicalJson(other) === canonicalJson(one));
  return own.identifier.some(isMissing(kept.identifier)) || own.extension.some(isMissing(kept.extension));
}

/**
 * A Slot that somebody else is about to store, with the marks of the stored one: only the service changes them. An offer
 * that is taken is marked as one, so that it is known when it is given back.
 */
export function withMarks(changed: Slot, stored: Slot, config: PublicConfig): Slot {
  const earlier = calendarSlot(stored, config);
  const time = timeOf(changed);
  // Elsewhere, it is not what was published: that is published again, and the Slot takes time like one that was made there.
  const hasLeft =
    publishedKeyOf(stored, config) !== undefined &&
    isTaken(changed) &&
    time &&
    earlier &&
    !contains(earlier.whole, time);
  const [own, theirs] = [hasLeft ? noMarks : marksOf(stored, config), marksOf(changed, config)];
  const isOffer = earlier?.role === 'offer' && !hasLeft;
  const origin = { system: artefactUri(config, 'LocalSlotOrigin'), value: stored.id ?? '' };
  const identifier = [
    ...(changed.identifier ?? []).filter((one) => !theirs.identifier.includes(one)),
    ...own.identifier,
    ...(isOffer && isTaken(changed) && !isMarked(stored, config) ? [origin] : []),
  ];
  const extension = [...(changed.extension ?? []).filter((one) => !theirs.extension.includes(one)), ...own.extension];
  const { identifier: _, extension: __, ...rest } = changed;
  const marked: Slot = {
    ...rest,
    ...(identifier.length > 0 && { identifier }),
    ...(extension.length > 0 && { extension }),
  };
  const slot = isOffer ? calendarSlot(marked, config) : undefined;
  const { start, end } = changed;
  const isByHand = slot?.isByHand || (!isTaken(stored) && isBooked(changed));
  const written =
    slot?.role === 'offer' ? { ...bookableSlotResource({ ...slot, isByHand }, config), start, end } : marked;
  return canonicalJson(written) === canonicalJson(changed) ? changed : written;
}

/** A Slot that never was on offer and takes its time from one place, as it is to be stored. */
export function takenInLane(slot: Slot, lane: string, config: PublicConfig): Slot {
  const url = artefactUri(config, 'LocalSlotOffer');
  const others = (slot.extension ?? []).filter((extension) => extension.url !== url);
  return { ...slot, extension: [...others, { url, extension: [{ url: 'lane', valueString: lane }] }] };
}

/** The elements of an offer besides its time, which all of its parts share. */
const offerElements = ['schedule', 'serviceCategory', 'specialty', 'appointmentType'] as const;

/** The mark of a buffer: the lane and the whole time of the offer that was booked. */
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

function offeredExtension(slot: CalendarSlot, config: PublicConfig): Extension | undefined {
  const { start, end, whole, status, role, lane, services = [], revision, isByHand, resource, isNew } = slot;
  const isPart = whole.start !== start || whole.end !== end || status === 'entered-in-error';
  const isPublished = !isNew && publishedKeyOf(resource, config)?.kind === 'offer';
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
  return role === 'offer' && parts.length > 0
    ? { url: artefactUri(config, 'LocalSlotOffer'), extension: parts }
    : undefined;
}

/** A taken offer and a part of one name their origin, by which they are told from what was never on offer. */
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
 * An offer as it is stored. While it is taken its services stand in its mark, not in `serviceType`: newer versions of
 * Medplum read a busy Slot with a `serviceType` as taken for that service only.
 */
export function bookableSlotResource(slot: CalendarSlot, config: PublicConfig): Slot {
  const { resource, isNew, status, start, end, services, id, origin, capacity } = slot;
  if (isNew && id === origin) {
    return { ...resource, status, start: formatInstant(start), end: formatInstant(end) };
  }
  const offered = artefactUri(config, 'LocalSlotOffer');
  const mark = offeredExtension(slot, config);
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
    offerElements.filter((name) => resource[name] !== undefined).map((name) => [name, resource[name]]),
  );
  const { profile, tag } = meta ?? {};
  // A Slot that replaces a deleted one is tagged with its id; its parts are not.
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
