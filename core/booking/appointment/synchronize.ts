import type { Appointment, Bundle, BundleEntry, Reference, Slot } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant, parseInstant, timeOf } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { idIn } from '../../fhir/reference.ts';
import { isResource } from '../../fhir/resource.ts';
import {
  BUFFER_COMMENTS,
  isBuffer,
  isMarked,
  isOverbooking,
  publishedKeyOf,
  publishedValueOf,
} from '../../fhir/scheduling/slot-marks.ts';
import { isByService } from '../../fhir/tags.ts';
import { calendarEntries, type Released, slotChanges } from '../../slots/entries.ts';
import { type ExternalSlot, newExternalSlot } from '../../slots/guard.ts';
import { settle, withGivenBack, withTaken } from '../../slots/settle.ts';
import {
  bufferOf,
  type Calendar,
  type CalendarSlot,
  calendarOf,
  calendarSlot,
  isBooked,
  isTaken,
  newCalendarSlot,
  occupies,
  type SlotUses,
  slotIdsOf,
  slotStatusOf,
  strongestUse,
  takesTimeOf,
} from '../../slots/slot.ts';
import {
  type Buffers,
  bufferSlots,
  neededBuffers,
  reachOf,
  type ScheduleServices,
  termsFor,
  withBuffers,
} from '../../slots/terms.ts';
import { contains, type Interval, intersection, overlaps, subtract, union } from '../../time/interval.ts';
import { isTakenByClinic, unfittingSlots } from './reads.ts';
import { holdsSlots, neededSlotStatus, slotUseOf } from './status.ts';

/** The calendar data around an appointment that `slotEntries` needs. */
export interface RelatedSlots {
  /** The Schedules that it takes time from without naming a Slot. */
  readonly unnamed?: readonly string[];
  /** Its slots, and all others of their Schedules within reach of them. */
  readonly slots: readonly Slot[];
  readonly uses: SlotUses;
  readonly schedules: readonly ScheduleServices[];
  /** Slots of the appointment that were deleted while they were taken, in their last version. */
  readonly lost: readonly Slot[];
  /** Ids of its slots that stay as they are: the clinic booked them by hand, or the appointment never held them. */
  readonly kept?: ReadonlySet<string>;
  /** Ids of the slots that it had before it was moved (`slotsLeft`); it gives them back. */
  readonly left?: readonly string[];
}

const versionsIn = ({ entry = [] }: Bundle): Appointment[] =>
  entry.flatMap(({ resource }) => (isResource(resource, 'Appointment') ? [resource] : []));

/**
 * The moment at which an appointment gave its slots back, according to its versions.
 * @param history - of the appointment, the newest version first
 * @returns `undefined` if it never held them; 0 if that was before the oldest known version; infinite if it still holds
 *   them, or no version is known
 */
function givenBackSince(history: Bundle): number | undefined {
  const versions = versionsIn(history);
  const last = versions.findIndex(holdsSlots);
  if (versions.length === 0) {
    return Number.POSITIVE_INFINITY;
  }
  if (last < 0) {
    return (history.total ?? 0) > versions.length ? 0 : undefined;
  }
  return parseInstant(versions[last - 1]?.meta?.lastUpdated) ?? Number.POSITIVE_INFINITY;
}

/**
 * The slots of an appointment that must stay as they are. Someone other than the service took them after the
 * appointment gave them back or while it was not confirmed. If the appointment never held its slots, all of them stay.
 * @param slots - with their authors
 * @param history - of the appointment, the newest version first
 */
export function keptSlots(slots: readonly Slot[], history: Bundle, config: BookingConfig): Set<string> {
  const since = givenBackSince(history);
  const holder = versionsIn(history).find(holdsSlots);
  const isLater = ({ meta }: Slot): boolean => since === undefined || (parseInstant(meta?.lastUpdated) ?? 0) > since;
  const kept = slots.filter((slot) => {
    const own = calendarSlot(slot, config);
    const isTakenByStaff = own !== undefined && holder !== undefined && isTakenByClinic(own, holder, config);
    return isTakenByStaff || (isLater(slot) && (since === undefined || isByHand(slot, config)));
  });
  return new Set(kept.flatMap(({ id }) => id ?? []));
}

/**
 * The slots that an appointment has left, according to its versions: slots that it no longer names, and named slots at
 * its former time. Deleted slots are included. Slots that somebody else has taken in the meantime are not.
 * @param history - of the appointment, the newest version first
 * @param slots - the existing ones, with their authors
 */
export function slotsLeft(
  appointment: Appointment,
  history: Bundle,
  slots: readonly Slot[],
  config: BookingConfig,
): string[] {
  const [current, time] = [slotIdsOf(appointment), timeOf(appointment)];
  const byId = new Map(slots.map((slot) => [slot.id ?? '', slot]));
  const left = new Set<string>();
  const passed = new Set<string>();
  let since = appointment.meta?.lastUpdated;
  for (const version of versionsIn(history)) {
    const then = timeOf(version);
    const isSameTime = then?.start === time?.start && then?.end === time?.end;
    const former = (holdsSlots(version) ? slotIdsOf(version) : []).filter((id) => !isSameTime || !current.includes(id));
    for (const id of former.filter((one) => !passed.has(one))) {
      const slot = byId.get(id);
      const own = slot && calendarSlot(slot, config);
      const isStill = current.includes(id) && own && time && !isBuffer(own.resource) && contains(time, own);
      const isOthers =
        slot !== undefined &&
        ((parseInstant(slot.meta?.lastUpdated) ?? 0) > (parseInstant(since) ?? 0)
          ? isByHand(slot, config)
          : own !== undefined && isTakenByClinic(own, version, config));
      if (!isStill && !isOthers) {
        left.add(id);
      }
      passed.add(id);
    }
    since = version.meta?.lastUpdated;
  }
  return [...left];
}

function isByHand(slot: Slot, config: BookingConfig): boolean {
  return isBooked(slot) && slot.meta?.author?.reference !== undefined && !isByService(slot.meta, config);
}

/**
 * Whether the slots of an appointment do not match its status, or may not match it because the job that updates them
 * was lost. A closed appointment with deleted slots counts, too: Medplum's `$cancel` deletes them, and the job that
 * gives back their time may have failed.
 * @param slots - its existing slots, by id
 * @param now - milliseconds since 1970 UTC; past time needs no slots
 */
export function isOutOfSync(
  appointment: Appointment,
  slots: ReadonlyMap<string, Slot>,
  now: number,
  config: PublicConfig,
): boolean {
  const own = slotIdsOf(appointment).flatMap((id) => slots.get(id) ?? []);
  const named = [...calendarOf(own, config).values()];
  const isUncovered = [...Map.groupBy(named, ({ schedule }) => schedule).values()].some(
    (ofSchedule) => uncoveredTime(appointment, ofSchedule).length > 0,
  );
  const isUnplaced =
    slotIdsOf(appointment).length === 0 &&
    takesTime(appointment) &&
    (parseInstant(appointment.end) ?? 0) > now &&
    appointment.participant.some(({ actor }) => actor !== undefined && idIn(actor, 'Patient') === undefined);
  if (isUncovered || isUnplaced) {
    return true;
  }
  if (!holdsSlots(appointment) && slotIdsOf(appointment).some((id) => !slots.has(id))) {
    return true;
  }
  const mayFollow = (status: Slot['status']): boolean => isAdjustable(status) || status === 'entered-in-error';
  return unfittingSlots(appointment, own).some(({ status }) => !holdsSlots(appointment) || mayFollow(status));
}

/** Whether the service may take a Slot of this status. A busy, blocked or entered-in-error Slot stays as it is. */
const isAdjustable = (status: Slot['status']): boolean => status === 'free' || status === 'busy-tentative';

const isOpenBookableSlot = ({ role, status }: CalendarSlot): boolean => role === 'bookable' && !isTaken({ status });

/**
 * Finds a Slot on the time that a staff appointment has not taken yet: both were written at the same moment.
 * @returns `undefined` if there is none, or the appointment is marked as an overbooking
 */
export function overlapOf(
  appointment: Appointment,
  related: RelatedSlots,
  config: PublicConfig,
): CalendarSlot | undefined {
  const { slots, uses, schedules, left = [] } = related;
  const calendar = withGivenBack(calendarOf(slots, config, uses), left, config);
  const time = timeOf(appointment);
  const isAsked = holdsSlots(appointment) && slotStatusOf(slotUseOf(appointment)) !== undefined;
  if (!time || !isAsked || isOverbooking(appointment, config)) {
    return undefined;
  }
  const ids = new Set(currentSlotIds(appointment, related));
  const named = [...ids].flatMap((id) => calendar.get(id) ?? []);
  const isOwnBuffer = ({ resource }: CalendarSlot): boolean => ids.has(bufferOf(resource, config) ?? '');
  const others = [...calendar.values()].filter((slot) => occupies(slot) && !ids.has(slot.id) && !isOwnBuffer(slot));
  const termsOf = termsFor(schedules, config);
  const inTheWay = named
    .filter(isOpenBookableSlot)
    .flatMap(
      (slot) => others.find((one) => overlaps(one, time) && takesTimeOf(one, slot, termsOf(slot).services)) ?? [],
    );
  const uncovered = [...schedulesOf(named, related)].flatMap((schedule) =>
    uncoveredTime(
      appointment,
      named.filter((slot) => slot.schedule === schedule),
    ).flatMap((part) => {
      const around = withEdgeBuffers(part, appointment, buffersInSchedule(schedule, related, appointment, config));
      return others.find((slot) => slot.schedule === schedule && overlaps(slot, around)) ?? [];
    }),
  );
  return [...inTheWay, ...uncovered][0];
}

/** Ids of the slots that an appointment names and has not left. */
const currentSlotIds = (appointment: Appointment, { left = [] }: RelatedSlots): string[] =>
  slotIdsOf(appointment).filter((id) => !left.includes(id));

/** The buffers of an appointment in a Schedule where it has no Slot; none if the Schedule is not known. */
function buffersInSchedule(
  schedule: string,
  { schedules }: RelatedSlots,
  appointment: Appointment,
  config: PublicConfig,
) {
  const known = schedules.find((calendar) => calendar.schedule.id === schedule);
  return known ? buffersWithoutSlot(known, appointment, config) : { before: 0, after: 0 };
}

/**
 * The Schedules that an appointment takes time from: those of its Slots, deleted ones included, or that of its actor.
 * If it has no Slots, it stays in the Schedules of the Slots that it has left.
 */
function schedulesOf(
  named: readonly CalendarSlot[],
  { lost, slots, left = [], unnamed = [] }: RelatedSlots,
): Set<string> {
  const former = slots.filter(({ id = '' }) => left.includes(id));
  const gone = named.length > 0 ? lost.filter(({ id = '' }) => !left.includes(id)) : [...lost, ...former];
  const ofGone = gone.flatMap(({ schedule }) => idIn(schedule, 'Schedule') ?? []);
  return new Set([...named.map(({ schedule }) => schedule), ...ofGone, ...unnamed]);
}

/** Takes the slots of an appointment. The strongest use, its own or another appointment's, decides the status. */
function withSlotsTaken(calendar: Calendar, appointment: Appointment, related: RelatedSlots): Calendar {
  const use = slotUseOf(appointment);
  const time = timeOf(appointment) ?? { start: 0, end: 0 };
  let result = calendar;
  for (const id of currentSlotIds(appointment, related)) {
    const slot = calendar.get(id);
    const status = slotStatusOf(strongestUse(use, slot?.use));
    if (!slot || !(isAdjustable(slot.status) || isOpenBookableSlot(slot)) || !slotStatusOf(use) || !status) {
      continue;
    }
    const part = isOpenBookableSlot(slot) ? intersection(slot, time) : slot;
    result = part && slot.status !== status ? withTaken(result, [id], part, status) : result;
  }
  return result;
}

/** Adds the missing buffers of an appointment to its calendar, and removes those that it no longer needs. */
function withOwnBuffers(
  calendar: Calendar,
  appointment: Appointment,
  related: RelatedSlots,
  newId: () => string,
  config: PublicConfig,
): Calendar {
  const time = timeOf(appointment);
  const ids = currentSlotIds(appointment, related);
  if (!time || !slotStatusOf(slotUseOf(appointment))) {
    return calendar;
  }
  const isOwn = ({ resource }: CalendarSlot): boolean => ids.includes(bufferOf(resource, config) ?? '');
  const isBeside = ({ start, end }: Interval): boolean => end === time.start || start === time.end;
  const result = new Map([...calendar].filter(([, slot]) => !isOwn(slot) || isBeside(slot)));
  const bookable = ids.flatMap((id) => calendar.get(id) ?? []).filter(({ role }) => role === 'bookable');
  // An appointment that had buffers and was moved with its Slot needs buffers at the new time.
  const hadBuffers = new Set(
    [...calendar.values()].flatMap((slot) =>
      (isOwn(slot) && !result.has(slot.id)) || (related.left?.includes(slot.id) && isBuffer(slot.resource))
        ? slot.schedule
        : [],
    ),
  );
  const moved = ids
    .flatMap((id) => calendar.get(id) ?? [])
    .filter((slot) => slot.role === 'external' && hadBuffers.has(slot.schedule) && overlaps(slot, time));
  for (const [schedule, slots] of Map.groupBy([...bookable, ...moved], (slot) => slot.schedule)) {
    const [first] = slots.toSorted((one, other) => one.start - other.start);
    const known = related.schedules.find((one) => one.schedule.id === schedule);
    const needed = first && known && neededBuffers(known, first, appointment.serviceType ?? [], config);
    const isThere = (wanted: Interval): boolean =>
      [...result.values()].some(
        (slot) =>
          slot.schedule === schedule &&
          (isOwn(slot) || (ids.includes(slot.id) && isBuffer(slot.resource))) &&
          overlaps(slot, wanted),
      );
    for (const made of needed ? bufferSlots(time, first, needed, newId, config) : []) {
      const { status, comment } = made.resource;
      const buffer =
        first?.role === 'bookable'
          ? made
          : newExternalSlot(schedule, made, { id: made.id, status, ...(comment !== undefined && { comment }) });
      if (!isThere(buffer)) {
        result.set(buffer.id, buffer);
      }
    }
  }
  return result;
}

/** External busy slots for the time of a staff appointment without a Slot. They take the time from every lane. */
function missingExternalSlots(
  calendar: Calendar,
  appointment: Appointment,
  related: RelatedSlots,
  newId: () => string,
  config: PublicConfig,
) {
  const status = slotStatusOf(slotUseOf(appointment));
  const named = currentSlotIds(appointment, related).flatMap((id) => calendar.get(id) ?? []);
  if (!status) {
    return [];
  }
  return [...schedulesOf(named, related)].flatMap((schedule) => {
    const own = named.filter((slot) => slot.schedule === schedule);
    const make = (time: Interval, more: Pick<Slot, 'status' | 'comment'>): CalendarSlot =>
      newExternalSlot(schedule, time, { id: newId(), ...more });
    return uncoveredTime(appointment, own).flatMap((time): CalendarSlot[] => {
      const around = withEdgeBuffers(time, appointment, buffersInSchedule(schedule, related, appointment, config));
      const buffers = [
        make({ start: around.start, end: time.start }, { status: 'busy-unavailable', comment: BUFFER_COMMENTS.before }),
        make({ start: time.end, end: around.end }, { status: 'busy-unavailable', comment: BUFFER_COMMENTS.after }),
      ];
      return [make(time, { status }), ...buffers.filter(({ start, end }) => start < end)];
    });
  });
}

/**
 * Adds the external busy slots of `slotEntries` to an open appointment. They replace its deleted or entered-in-error
 * Slots; Slots that it has left are removed.
 */
export function withExternalSlots(
  appointment: Appointment,
  entries: readonly BundleEntry[],
  { slots, left = [] }: RelatedSlots,
  config: PublicConfig,
): Appointment {
  const taken = entries.flatMap(({ fullUrl, resource }) => {
    const isTaking = isResource(resource, 'Slot') && (isBooked(resource) || isBuffer(resource)) && !resource.identifier;
    return fullUrl !== undefined && isTaking ? [{ reference: fullUrl }] : [];
  });
  const isGone = (reference: Reference): boolean => {
    const slot = slots.find(({ id }) => id === idIn(reference, 'Slot'));
    return slot === undefined || calendarSlot(slot, config)?.role === 'ended';
  };
  const named = appointment.slot ?? [];
  const kept = named.filter((reference) => !left.includes(idIn(reference, 'Slot') ?? ''));
  if (!holdsSlots(appointment) || (taken.length === 0 && kept.length === named.length)) {
    return appointment;
  }
  return {
    ...appointment,
    slot: [...(taken.length > 0 ? kept.filter((reference) => !isGone(reference)) : kept), ...taken],
  };
}

/**
 * Recreates deleted bookable slots under new ids. A part joins the rest of its slot, and is not stored where its time
 * is bookable again. A published slot gets the whole time that it had before it was taken.
 */
function recreatedSlots(
  lost: readonly Slot[],
  system: string,
  now: number,
  config: PublicConfig,
  newId: () => string,
): CalendarSlot[] {
  const isPublished = (slot: Slot): boolean => publishedKeyOf(slot, config)?.kind === 'bookable';
  const tagged = lost
    .filter((slot) => !isPublished(slot))
    .map((slot): Slot => {
      const tag = [...(slot.meta?.tag ?? []), { system, code: slot.id ?? '' }];
      return { ...slot, meta: { ...slot.meta, tag } };
    });
  const parts = [...calendarOf(tagged, config).values()].map((slot): CalendarSlot => {
    return { ...slot, id: newId(), isNew: true, role: 'bookable', use: undefined };
  });
  const published = [...calendarOf(lost.filter(isPublished), config).values()].flatMap((slot) => {
    const { identifier = [], schedule, serviceCategory, specialty, appointmentType, comment } = slot.resource;
    const resource: Slot = {
      resourceType: 'Slot',
      identifier: identifier.filter((one) => one.value === publishedValueOf(slot.resource, config)),
      schedule,
      ...(serviceCategory && { serviceCategory }),
      ...(specialty && { specialty }),
      ...(appointmentType && { appointmentType }),
      ...(comment !== undefined && { comment }),
      ...(slot.services && { serviceType: [...slot.services] }),
      status: 'busy',
      start: formatInstant(slot.whole.start),
      end: formatInstant(slot.whole.end),
    };
    const made = slot.whole.end > now ? newCalendarSlot(newId(), resource, config) : undefined;
    return made ? [{ ...made, role: 'bookable' as const }] : [];
  });
  return [...parts, ...published];
}

function withSlots(calendar: Calendar, slots: readonly CalendarSlot[]): Calendar {
  return new Map([...calendar, ...slots.map((slot) => [slot.id, slot] as const)]);
}

/** Creates the replacement of a deleted slot only once: the id of the deleted one is its tag. */
function withCreateOnce(entry: BundleEntry, system: string): BundleEntry {
  const { request, resource } = entry;
  const lostId = isResource(resource, 'Slot')
    ? resource.meta?.tag?.find((tag) => tag.system === system)?.code
    : undefined;
  return request?.method === 'POST' && lostId !== undefined
    ? {
        ...entry,
        request: { ...request, ifNoneExist: new URLSearchParams({ _tag: `${system}|${lostId}` }).toString() },
      }
    : entry;
}

/**
 * The transaction entries that update the slots of an appointment to match its status: taken while it is open, busy
 * once confirmed, given back when it is cancelled. Slots that this excludes, or no longer excludes, are settled. If
 * several appointments use a slot, the strongest use decides its status. The operation is idempotent.
 * @param appointment - as it is or is about to be
 * @param newId - gives a fresh `urn:uuid:` for each new slot
 * @see specification section 3
 */
export function slotEntries(
  appointment: Appointment,
  related: RelatedSlots,
  config: PublicConfig,
  newId: () => string,
  now: number,
): BundleEntry[] {
  return slotEntriesOf([appointment], related, config, newId, now, () => []);
}

/**
 * `slotEntries` for several appointments that change together. All of them hold their slots, or none does.
 * @param related - of all of them; their uses of each other's slots do not count
 * @param onReleased - gives further entries where time is given back
 */
export function slotEntriesOf(
  appointments: readonly Appointment[],
  related: RelatedSlots,
  config: PublicConfig,
  newId: () => string,
  now: number,
  onReleased: Released,
): BundleEntry[] {
  const { slots, uses, schedules, lost, kept = new Set(), left = [] } = related;
  const system = artefactUri(config, 'LocalSlotOrigin');
  const before = calendarOf(slots, config, uses);
  const isHolding = appointments.every(holdsSlots);
  const ids = [...left, ...(isHolding ? [] : appointments.flatMap(slotIdsOf).filter((id) => !kept.has(id)))];
  const isGivenBack = (slot: Slot): boolean =>
    slots.some(
      (one) =>
        one.meta?.tag?.some((tag) => tag.system === system && tag.code === slot.id) ||
        (publishedValueOf(slot, config) !== undefined &&
          publishedValueOf(one, config) === publishedValueOf(slot, config)),
    );
  const missing = lost.filter((slot) => ids.includes(slot.id ?? '') && !isGivenBack(slot));
  const wasOffered = (slot: Slot): boolean => isBooked(slot) && isMarked(slot, config);
  const deleted = recreatedSlots(missing.filter(wasOffered), system, now, config, newId);
  const free = deleted.map((slot): CalendarSlot => ({ ...slot, status: 'free' }));
  const given = withSlots(withGivenBack(before, ids, config), free);
  const externals = appointments.flatMap((appointment) =>
    isHolding ? missingExternalSlots(given, appointment, related, newId, config) : [],
  );
  const after = (isHolding ? appointments : []).reduce(
    (calendar, appointment) =>
      withOwnBuffers(withSlotsTaken(calendar, appointment, related), appointment, related, newId, config),
    given,
  );
  // A slot that stayed free may be bookable although something else takes its time. Deleted slots take no time, and no
  // record says whose time it was.
  const own = ids.flatMap((id) => before.get(id) ?? []).filter((slot) => slot.status === 'free');
  const times = [...own, ...calendarOf(missing, config).values()];
  const reach = reachOf(schedules, config);
  const renewed = {
    start: Math.min(...times.map(({ start }) => start)) - reach,
    end: Math.max(...times.map(({ end }) => end)) + reach,
  };
  const settled = settle(withSlots(before, deleted), withSlots(after, externals), {
    termsOf: termsFor(schedules, config),
    newId,
    stored: before,
    ...(times.length > 0 && { renewed }),
  });
  return [
    ...calendarEntries(before, settled, config).map((entry) => withCreateOnce(entry, system)),
    ...(ids.length > 0
      ? onReleased(slotChanges(withSlots(before, deleted), settled, config), schedules, now, config)
      : []),
  ];
}

/**
 * The last version of a deleted slot, if it was taken. If it was a bookable slot, it becomes bookable again. A slot
 * that Medplum created for a single appointment stays deleted with it; so does one that was free when the clinic
 * deleted it.
 * @param history - of the slot, the newest version first
 */
export function lostSlot(history: Bundle): Slot | undefined {
  const [last] = (history.entry ?? []).flatMap(({ resource }) => (isResource(resource, 'Slot') ? [resource] : []));
  return last && isTaken(last) ? last : undefined;
}

/** Whether an appointment takes time. A record of the past (closed status) takes none. */
export const takesTime = (appointment: Appointment): boolean =>
  neededSlotStatus(appointment) !== undefined && timeOf(appointment) !== undefined;

/**
 * The part of an appointment's time that none of its Slots in a Schedule covers. It is taken from every lane.
 * @param named - its existing Slots in that Schedule
 */
function uncoveredTime(appointment: Appointment, named: readonly CalendarSlot[]): Interval[] {
  const time = timeOf(appointment);
  const covering = named.filter(({ role }) => role !== 'ended');
  return time && takesTime(appointment) ? [...subtract([time], union(covering))] : [];
}

/** The buffers of an appointment in a Schedule, by its service type, else by those of the Schedule. */
function buffersWithoutSlot(of: ScheduleServices, appointment: Appointment, config: PublicConfig): Buffers {
  const time = timeOf(appointment) ?? { start: 0, end: 0 };
  const slot = newExternalSlot(of.schedule.id ?? '', time, { status: 'busy' });
  return neededBuffers(of, slot, appointment.serviceType ?? of.schedule.serviceType ?? [], config);
}

/** A part of the time of an appointment, with its buffers where the appointment begins and ends. */
function withEdgeBuffers({ start, end }: Interval, appointment: Appointment, needed: Buffers): Interval {
  const time = timeOf(appointment);
  return {
    start: start === time?.start ? start - needed.before : start,
    end: end === time?.end ? end + needed.after : end,
  };
}

/**
 * The time that an appointment written by clinic staff takes: a part of each of its Slots, with the buffers of its
 * service, and the rest of its time from every lane.
 * @param named - its existing Slots
 * @param schedules - the Schedules that it takes time from: those of its Slots or, without any, that of its actor
 * @param isKnown - whether all its Slots exist; Slots of an unfinished transaction do not yet
 */
export function timesTaken(
  appointment: Appointment,
  named: readonly CalendarSlot[],
  schedules: readonly ScheduleServices[],
  isKnown: boolean,
  config: PublicConfig,
): Omit<ExternalSlot, 'against'>[] {
  const time = timeOf(appointment);
  return schedules.flatMap(({ schedule, services }) => {
    const id = schedule.id ?? '';
    const own = named.filter((slot) => slot.schedule === id);
    const parts = own
      .filter(({ role }) => role !== 'ended')
      .flatMap((slot) => {
        const needed = neededBuffers({ schedule, services }, slot, appointment.serviceType ?? [], config);
        const around = isTaken(slot) && slot.role !== 'bookable' ? slot : time && withBuffers(time, needed);
        return time && around && overlaps(slot, time) ? [{ from: slot, start: around.start, end: around.end }] : [];
      });
    const rest = (isKnown ? uncoveredTime(appointment, own) : []).map((uncovered) => {
      const needed = buffersWithoutSlot({ schedule, services }, appointment, config);
      const interval = withEdgeBuffers(uncovered, appointment, needed);
      return { from: newExternalSlot(id, interval, { status: 'busy' }), ...interval };
    });
    return [...parts, ...rest];
  });
}

/** Refuses an appointment on taken time that is not marked as an overbooking. */
export function overbookingIssue(
  appointment: Appointment,
  from: CalendarSlot,
  by: string,
  config: PublicConfig,
): Issue {
  const url = artefactUri(config, 'LocalOverbooking');
  const index = (appointment.slot ?? []).findIndex(({ reference }) => reference === `Slot/${from.id}`);
  return {
    code: 'schedule-overbooked',
    diagnostics: `${by}. To overbook on purpose, add the extension ${url} with valueBoolean true.`,
    expression: index < 0 ? 'Appointment' : `Appointment.slot[${index}]`,
  };
}

/**
 * Whether an appointment must not lie on taken time: neither it nor one of its Slots is marked as an overbooking.
 * @param named - its existing Slots
 */
export const mustBeAlone = (appointment: Appointment, named: readonly CalendarSlot[], config: PublicConfig): boolean =>
  takesTime(appointment) &&
  ![appointment, ...named.map(({ resource }) => resource)].some((one) => isOverbooking(one, config));
