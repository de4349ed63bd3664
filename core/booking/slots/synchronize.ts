import type { Appointment, Bundle, BundleEntry, Reference, Slot } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig, type PublicConfig } from '../../config/config.ts';
import { parseInstant, timeOf } from '../../fhir/instant.ts';
import { idIn } from '../../fhir/reference.ts';
import { isResource } from '../../fhir/resource.ts';
import { isByService, ownerOf } from '../../fhir/tags.ts';
import { calendarEntries, slotChanges } from '../../slots/entries.ts';
import { newTaking } from '../../slots/guard.ts';
import { withoutIntentsOf } from '../../slots/intent.ts';
import { settle, withGivenBack, withTaken } from '../../slots/settle.ts';
import {
  BUFFER_COMMENTS,
  type Calendar,
  type CalendarSlot,
  calendarOf,
  calendarSlot,
  isBooked,
  isBuffer,
  isMarked,
  isOverbooking,
  isTaken,
  occupies,
  publishedKeyOf,
  type SlotUses,
  slotIdsOf,
  slotStatusOf,
  strongestUse,
  takesTimeOf,
} from '../../slots/slot.ts';
import { bufferSlots, neededBuffers, reachOf, type ScheduleServices, termsFor } from '../../slots/terms.ts';
import { type Interval, intersection, overlaps } from '../../time/interval.ts';
import { buffersWithoutSlot, takesTime, uncoveredTime, withNeeded } from '../appointment/overbooking.ts';
import { holdsSlots, isOpen, slotUseOf } from '../appointment/status.ts';
import { refillRows } from '../waitlist/refill.ts';
import { unfittingSlots } from './reads.ts';

/** What an appointment's slots depend on besides its status. */
export interface RelatedSlots {
  /** The Schedules that it takes time from without naming a Slot. */
  readonly unnamed?: readonly string[];
  /** Its slots, and all others of their Schedules within reach of them. */
  readonly slots: readonly Slot[];
  /** How other appointments use its slots. */
  readonly uses: SlotUses;
  readonly schedules: readonly ScheduleServices[];
  /** Slots of the appointment that were deleted while they were taken, in their last version. */
  readonly lost: readonly Slot[];
  /** Ids of its slots that stay as they are: the clinic took them by hand, or the appointment never held them. */
  readonly kept?: ReadonlySet<string>;
}

const versionsIn = ({ entry = [] }: Bundle): Appointment[] =>
  entry.flatMap(({ resource }) => (isResource(resource, 'Appointment') ? [resource] : []));

/**
 * Since when an appointment has not held its slots any more, as its versions show.
 *
 * @param history - of the appointment, the newest version first
 * @returns `undefined` if it never held them; 0 if that was before the oldest version that is known; infinite if it still
 *   holds them, or nothing is known of it
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
 * Whether the clinic has taken an offer for itself although a requestor's appointment has it: at the same moment, or it is
 * `busy`, and the appointment is not confirmed.
 */
function isTakenByClinic({ role, status, isByHand }: CalendarSlot, holder: Appointment, config: PublicConfig): boolean {
  const isUnconfirmed = status === 'busy' && isOpen(holder) && slotStatusOf(slotUseOf(holder)) !== 'busy';
  return role === 'offer' && (isByHand || isUnconfirmed) && ownerOf(holder, config) !== undefined;
}

/** Ids of the slots that an appointment gives back when it ends or moves: all but those that the clinic has taken. */
export function slotsToGiveBack(holder: Appointment, calendar: Calendar, config: PublicConfig): string[] {
  return slotIdsOf(holder).filter((id) => {
    const slot = calendar.get(id);
    return !slot || !isTakenByClinic(slot, holder, config);
  });
}

/**
 * Those slots of an appointment that someone other than the service has taken since the appointment gave them back or
 * while it was not confirmed, or all if it never held them: they stay as they are.
 *
 * @param slots - with their authors
 * @param history - of the appointment, the newest version first
 */
export function keptSlots(slots: readonly Slot[], history: Bundle, config: BookingConfig): Set<string> {
  const since = givenBackSince(history);
  const holder = versionsIn(history).find(holdsSlots);
  const isLater = ({ meta }: Slot): boolean => since === undefined || (parseInstant(meta?.lastUpdated) ?? 0) > since;
  const kept = slots.filter((slot) => {
    const own = calendarSlot(slot, config);
    const isAside = own !== undefined && holder !== undefined && isTakenByClinic(own, holder, config);
    return isAside || (isLater(slot) && (since === undefined || isByHand(slot, config)));
  });
  return new Set(kept.flatMap(({ id }) => id ?? []));
}

/** Whether a slot is taken and was last written by someone other than the service. */
function isByHand(slot: Slot, config: BookingConfig): boolean {
  return isBooked(slot) && slot.meta?.author?.reference !== undefined && !isByService(slot.meta, config);
}

/**
 * Whether the slots of an appointment do not match its status, or may not match it, because the job that updates them
 * was lost.
 *
 * One that has ended and whose slots are deleted is among them: Medplum's `$cancel` deletes them, and the job that gives
 * back their time may have failed.
 *
 * @param slots - those of its slots that exist, by id
 * @param now - milliseconds since 1970 UTC: nobody needs time that is over
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
  if ((isUncovered || isUnplaced) && ownerOf(appointment, config) === undefined) {
    return true;
  }
  if (!holdsSlots(appointment) && slotIdsOf(appointment).some((id) => !slots.has(id))) {
    return true;
  }
  const mayFollow = (status: Slot['status']): boolean => isAdjustable(status) || status === 'entered-in-error';
  return unfittingSlots(appointment, own).some(({ status }) => !holdsSlots(appointment) || mayFollow(status));
}

/** Whether the service may take a Slot of this status: one that is confirmed, blocked or void stays as it is. */
const isAdjustable = (status: Slot['status']): boolean => status === 'free' || status === 'busy-tentative';

const isOpenOffer = ({ role, status }: CalendarSlot): boolean => role === 'offer' && !isTaken({ status });

/**
 * What takes the time of an appointment of clinic staff that it does not have yet: both were written at the same moment.
 *
 * @returns nothing if nothing does, or the appointment says that it is an overbooking
 */
export function overlapOf(
  appointment: Appointment,
  related: RelatedSlots,
  config: PublicConfig,
): CalendarSlot | undefined {
  const { slots, uses, schedules } = related;
  const calendar = calendarOf(slots, config, uses);
  const time = timeOf(appointment);
  const isAsked = holdsSlots(appointment) && slotStatusOf(slotUseOf(appointment)) !== undefined;
  if (!time || !isAsked || isOverbooking(appointment, config) || ownerOf(appointment, config) !== undefined) {
    return undefined;
  }
  const ids = new Set(slotIdsOf(appointment));
  const named = [...ids].flatMap((id) => calendar.get(id) ?? []);
  const others = [...calendar.values()].filter((slot) => occupies(slot) && !ids.has(slot.id));
  const termsOf = termsFor(schedules, config);
  const inTheWay = named
    .filter(isOpenOffer)
    .flatMap(
      (slot) => others.find((one) => overlaps(one, time) && takesTimeOf(one, slot, termsOf(slot).services)) ?? [],
    );
  const uncovered = [...schedulesOf(named, related)].flatMap((schedule) =>
    uncoveredTime(
      appointment,
      named.filter((slot) => slot.schedule === schedule),
    ).flatMap((part) => {
      const around = withNeeded(part, appointment, buffersIn(schedule, related, appointment, config));
      return others.find((one) => one.schedule === schedule && overlaps(one, around)) ?? [];
    }),
  );
  return [...inTheWay, ...uncovered][0];
}

/** The buffers of an appointment that names no Slot of a Schedule; none where the Schedule is not known. */
function buffersIn(schedule: string, { schedules }: RelatedSlots, appointment: Appointment, config: PublicConfig) {
  const known = schedules.find((one) => one.schedule.id === schedule);
  return known ? buffersWithoutSlot(known, appointment, config) : { before: 0, after: 0 };
}

/** The Schedules that an appointment takes time from: those of its Slots, deleted ones included, or that of its actor. */
function schedulesOf(named: readonly CalendarSlot[], { lost, unnamed = [] }: RelatedSlots): Set<string> {
  const ofLost = lost.flatMap(({ schedule }) => idIn(schedule, 'Schedule') ?? []);
  return new Set([...named.map(({ schedule }) => schedule), ...ofLost, ...unnamed]);
}

/** Takes the slots that an appointment holds, as its status and those of the others that hold them require. */
function taken(
  calendar: Calendar,
  appointment: Appointment,
  related: RelatedSlots,
  newId: () => string,
  config: PublicConfig,
) {
  const use = slotUseOf(appointment);
  const [start, end] = [parseInstant(appointment.start) ?? 0, parseInstant(appointment.end) ?? 0];
  let result = calendar;
  const begun = new Map<string, CalendarSlot>();
  for (const id of slotIdsOf(appointment)) {
    const slot = calendar.get(id);
    const status = slotStatusOf(strongestUse(use, slot?.use));
    if (!slot || !(isAdjustable(slot.status) || isOpenOffer(slot)) || !slotStatusOf(use) || !status) {
      continue;
    }
    const part = isOpenOffer(slot) ? intersection(slot, { start, end }) : slot;
    result = part && slot.status !== status ? withTaken(result, [id], part, status) : result;
    if (isOpenOffer(slot) && part && slot.start <= (begun.get(slot.schedule)?.start ?? slot.start)) {
      begun.set(slot.schedule, slot);
    }
  }
  const buffers = [...begun.values()].flatMap((slot) => {
    const known = related.schedules.find(({ schedule }) => schedule.id === slot.schedule);
    const needed = known && neededBuffers(known, slot, appointment.serviceType ?? [], config);
    return needed ? bufferSlots({ start, end }, slot, needed, newId, config) : [];
  });
  return new Map([...result, ...buffers.map((buffer) => [buffer.id, buffer] as const)]);
}

/**
 * Takings for the time of an appointment of clinic staff for which it names no Slot: they take it from every place.
 *
 * @returns empty if it has what it needs
 */
function missingTakings(
  calendar: Calendar,
  appointment: Appointment,
  related: RelatedSlots,
  newId: () => string,
  config: PublicConfig,
) {
  const ids = slotIdsOf(appointment);
  const status = slotStatusOf(slotUseOf(appointment));
  const named = ids.flatMap((id) => calendar.get(id) ?? []);
  if (!status || ownerOf(appointment, config) !== undefined) {
    return [];
  }
  return [...schedulesOf(named, related)].flatMap((schedule) => {
    const own = named.filter((slot) => slot.schedule === schedule);
    const make = (time: Interval, more: Pick<Slot, 'status' | 'comment'>): CalendarSlot =>
      newTaking(schedule, time, { id: newId(), ...more });
    return uncoveredTime(appointment, own).flatMap((time): CalendarSlot[] => {
      const around = withNeeded(time, appointment, buffersIn(schedule, related, appointment, config));
      const buffers = [
        make({ start: around.start, end: time.start }, { status: 'busy-unavailable', comment: BUFFER_COMMENTS.before }),
        make({ start: time.end, end: around.end }, { status: 'busy-unavailable', comment: BUFFER_COMMENTS.after }),
      ];
      return [make(time, { status }), ...buffers.filter(({ start, end }) => start < end)];
    });
  });
}

/**
 * An open appointment with the Slots that it takes without having named them (`slotEntries`), instead of those that are void
 * or deleted.
 *
 * @param slots - those that it names
 */
export function withTakings(
  appointment: Appointment,
  entries: readonly BundleEntry[],
  slots: readonly Slot[],
  config: PublicConfig,
): Appointment {
  const taken = entries.flatMap(({ fullUrl, resource }) => {
    const isTaking = isResource(resource, 'Slot') && (isBooked(resource) || isBuffer(resource)) && !resource.identifier;
    return fullUrl !== undefined && isTaking ? [{ reference: fullUrl }] : [];
  });
  const isGone = (reference: Reference): boolean => {
    const slot = slots.find(({ id }) => id === idIn(reference, 'Slot'));
    return slot === undefined || calendarSlot(slot, config)?.role === 'void';
  };
  const kept = (appointment.slot ?? []).filter((reference) => !isGone(reference));
  return taken.length > 0 ? { ...appointment, slot: [...kept, ...taken] } : appointment;
}

/**
 * Deleted offers as if they were still there, under new ids. Given back, they join what is left of their offer, and are not
 * stored where that has been offered again already.
 */
function lostSlots(lost: readonly Slot[], config: PublicConfig, newId: () => string): CalendarSlot[] {
  return [...calendarOf(lost, config).values()].map((slot) => {
    const id = newId();
    return { ...slot, id, isNew: true, role: 'offer', use: undefined };
  });
}

function withSlots(calendar: Calendar, slots: readonly CalendarSlot[]): Calendar {
  return new Map([...calendar, ...slots.map((slot) => [slot.id, slot] as const)]);
}

/** A slot that replaces a lost one has the id of the lost one as a tag, and is created only once. */
function onlyOnce(entry: BundleEntry, system: string): BundleEntry {
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
 * The transaction entries that update the slots of an appointment to match its status: taken while it is open, confirmed
 * with it, given back when it is cancelled, and everything settled that this excludes or no longer excludes. If several
 * appointments use a slot, it gets the status that the most binding one requires. The operation is idempotent.
 *
 * @param appointment - as it is or is about to be
 * @param newId - gives a fresh `urn:uuid:` for each new slot
 * @param now - milliseconds since 1970 UTC
 * @see specification section 3
 */
export function slotEntries(
  appointment: Appointment,
  related: RelatedSlots,
  config: PublicConfig,
  newId: () => string,
  now: number,
): BundleEntry[] {
  return slotEntriesOf([appointment], related, config, newId, now);
}

/**
 * The same for several appointments that change together: all of them hold their slots, or none.
 *
 * @param related - of all of them; how they use each other's slots does not count
 */
export function slotEntriesOf(
  appointments: readonly Appointment[],
  related: RelatedSlots,
  config: PublicConfig,
  newId: () => string,
  now: number,
): BundleEntry[] {
  const { slots, uses, schedules, lost, kept = new Set() } = related;
  const system = artefactUri(config, 'LocalSlotOrigin');
  const before = calendarOf(slots, config, uses);
  const context = { termsOf: termsFor(schedules, config), newId };
  if (appointments.every(holdsSlots)) {
    const takings = appointments.flatMap((one) => missingTakings(before, one, related, newId, config));
    const own = appointments.reduce((calendar, one) => taken(calendar, one, related, newId, config), before);
    return calendarEntries(before, settle(before, withSlots(own, takings), context), now, config);
  }
  const isGivenBack = ({ id }: Slot): boolean =>
    slots.some(({ meta }) => meta?.tag?.some((tag) => tag.system === system && tag.code === id));
  // A published slot is published again by itself.
  const missing = lost
    .filter(
      (slot) =>
        isBooked(slot) &&
        isMarked(slot, config) &&
        !isGivenBack(slot) &&
        publishedKeyOf(slot, config)?.kind !== 'offer',
    )
    .map((slot): Slot => {
      const tag = [...(slot.meta?.tag ?? []), { system, code: slot.id ?? '' }];
      return { ...slot, meta: { ...slot.meta, tag } };
    });
  const ids = appointments.flatMap(slotIdsOf).filter((id) => !kept.has(id));
  const deleted = lostSlots(missing, config, newId);
  const free = deleted.map((slot): CalendarSlot => ({ ...slot, status: 'free' }));
  const current = appointments.reduce(
    (calendar, { id }) => withoutIntentsOf(calendar, `Appointment/${id}`, now, config),
    before,
  );
  const after = withSlots(withGivenBack(current, ids, config), free);
  // One that was not taken in the end may have been offered although something else takes its time. What is deleted takes
  // none, and nothing is left that says whose time it was.
  const own = ids.flatMap((id) => before.get(id) ?? []).filter((slot) => slot.status === 'free');
  const times = [...own, ...calendarOf(lost, config).values()];
  const reach = reachOf(schedules, config);
  const renewed = {
    start: Math.min(...times.map(({ start }) => start)) - reach,
    end: Math.max(...times.map(({ end }) => end)) + reach,
  };
  const settled = settle(withSlots(current, deleted), after, { ...context, stored: before, renewed });
  return [
    ...calendarEntries(before, settled, now, config).map((entry) => onlyOnce(entry, system)),
    ...refillRows(slotChanges(before, settled, now, config), schedules, now, config),
  ];
}

/**
 * The last version of a deleted slot, if it was taken. If it had been offered, it is offered again; one that Medplum created
 * for a single appointment stays deleted with it, and so does one that was free when the clinic deleted it.
 *
 * @param history - of the slot, the newest version first
 */
export function lostSlot(history: Bundle): Slot | undefined {
  const [last] = (history.entry ?? []).flatMap(({ resource }) => (isResource(resource, 'Slot') ? [resource] : []));
  return last && isTaken(last) ? last : undefined;
}
