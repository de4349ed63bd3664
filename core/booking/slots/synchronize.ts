import type { Appointment, Bundle, BundleEntry, Slot } from '@medplum/fhirtypes';
import { isBuffer, publishedKeyOf } from '../../calendar/slots/slot-role.ts';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { parseInstant } from '../../fhir/instant.ts';
import { isResource } from '../../fhir/resource.ts';
import { isByService, type ServiceConfig } from '../../fhir/service-author.ts';
import { intersection } from '../../time/interval.ts';
import { isHeld, isTaken, slotIdsOf, slotStatusOf, strongestUse } from '../appointment/slot-use.ts';
import { holdsSlots, slotUseOf } from '../appointment/status.ts';
import { bufferRemovals } from './buffers.ts';
import { type Calendar, type CalendarSlot, calendarEntries, calendarOf, join, release, take } from './calendar.ts';
import type { Fragments } from './fragments.ts';

/** The part of the configuration that slots depend on. */
export type SlotSyncConfig = ArtefactConfig;

/** What an appointment's slots depend on besides its status. */
export interface RelatedSlots {
  /** Everything that was split off from the slots, and how other appointments use it. */
  readonly fragments: Fragments;
  /** Slots of the appointment that were deleted although they had been offered, in their last version. */
  readonly lost: readonly Slot[];
  /** Ids of its slots that were never offered: releasing them does not offer them to others. */
  readonly neverOffered?: ReadonlySet<string>;
  /** Ids of its slots that the clinic has taken by hand since it gave them back (`setByHand`). */
  readonly setByHand?: ReadonlySet<string>;
}

/**
 * Those slots of an appointment that someone other than the service has taken since the appointment gave them back: they
 * stay as they are. If it gave them back before the oldest version that is known, there is no telling when: then all slots
 * that others have taken stay.
 *
 * @param slots - with their authors
 * @param history - of the appointment, the newest version first
 */
export function setByHand(slots: readonly Slot[], history: Bundle, config: ServiceConfig): Set<string> {
  const versions = (history.entry ?? []).flatMap(({ resource }) =>
    isResource(resource, 'Appointment') ? [resource] : [],
  );
  const last = versions.findIndex(holdsSlots);
  const isLongAgo = last < 0 && (history.total ?? 0) > (history.entry ?? []).length;
  const first = versions.slice(0, last < 0 ? versions.length : last).at(-1);
  const givenBack = isLongAgo ? 0 : parseInstant(first?.meta?.lastUpdated);
  const isLater = ({ meta }: Slot): boolean => (parseInstant(meta?.lastUpdated) ?? 0) > (givenBack ?? Infinity);
  return new Set(slots.filter((slot) => isByHand(slot, config) && isLater(slot)).flatMap(({ id }) => id ?? []));
}

/** Whether a slot is taken and was last written by someone other than the service. */
export function isByHand({ status, meta }: Slot, config: ServiceConfig): boolean {
  return isTaken(status) && meta?.author?.reference !== undefined && !isByService(meta, config);
}

/**
 * Whether the slots of an appointment do not match its status, or may not match it, because the job that updates them
 * was lost.
 *
 * @param slots - those of its slots that exist, by id
 */
export function isOutOfSync(appointment: Appointment, slots: ReadonlyMap<string, Slot>): boolean {
  const statuses = slotIdsOf(appointment).map((id) => slots.get(id)?.status);
  if (!holdsSlots(appointment)) {
    return statuses.some(isTaken);
  }
  const needed = slotStatusOf(slotUseOf(appointment));
  return needed !== undefined && statuses.some((status) => isAdjustable(status) && status !== needed);
}

/** Whether the service may take a Slot of this status: one that is confirmed, blocked or void stays as it is. */
const isAdjustable = (status: Slot['status'] | undefined): boolean => status === 'free' || status === 'busy-tentative';

/** Takes the slots that an appointment holds, as its status and those of the others that hold them require. */
function withTaken(calendar: Calendar, appointment: Appointment, newId: () => string): Calendar {
  const use = slotUseOf(appointment);
  const wanted = { start: parseInstant(appointment.start) ?? 0, end: parseInstant(appointment.end) ?? 0 };
  return slotIdsOf(appointment).reduce((current, id) => {
    const slot = current.get(id);
    const status = slotStatusOf(strongestUse(use, slot?.use));
    if (!slot || !isAdjustable(slot.status) || !slotStatusOf(use) || !status) {
      return current;
    }
    const part = slot.status === 'free' ? intersection(slot, wanted) : slot;
    return part && slot.status !== status ? take(current, id, part, status, newId) : current;
  }, calendar);
}

/** Releases the slots of an appointment unless another one holds them; slots that were never offered are removed. */
function withGivenBack(
  calendar: Calendar,
  appointment: Appointment,
  neverOffered: ReadonlySet<string>,
  byHand: ReadonlySet<string>,
): Calendar {
  const released = slotIdsOf(appointment)
    .filter((id) => !byHand.has(id))
    .reduce(release, calendar);
  const isGone = ({ id, status, resource }: CalendarSlot): boolean =>
    neverOffered.has(id) &&
    !byHand.has(id) &&
    (status === 'free' || (status === 'busy-unavailable' && isBuffer(resource)));
  const gone = [...released.values()].filter(isGone);
  return join(
    new Map([...released, ...gone.map((slot) => [slot.id, { ...slot, status: 'entered-in-error' }] as const)]),
  );
}

function withLost(calendar: Calendar, lost: readonly Slot[], originSystem: string, newId: () => string) {
  const restored = [...calendarOf(lost, originSystem).values()].map((slot) => ({
    ...slot,
    id: newId(),
    status: 'free' as const,
    isNew: true,
  }));
  const calendarWithLost: Calendar = new Map([...calendar, ...restored.map((slot) => [slot.id, slot] as const)]);
  return { calendar: calendarWithLost, restoredFrom: new Map(restored.map(({ id, resource }) => [id, resource.id])) };
}

/** A slot that replaces a lost one has the id of the lost one as a tag, and is created only once. */
function onlyOnce(entry: BundleEntry, lostId: string | undefined, system: string): BundleEntry {
  const { request, resource } = entry;
  if (lostId === undefined || !request || !isResource(resource, 'Slot')) {
    return entry;
  }
  const tag = [...(resource.meta?.tag ?? []), { system, code: lostId }];
  const ifNoneExist = new URLSearchParams({ _tag: `${system}|${lostId}` }).toString();
  return { ...entry, request: { ...request, ifNoneExist }, resource: { ...resource, meta: { ...resource.meta, tag } } };
}

/**
 * The transaction entries that update the slots of an appointment to match its status: taken while it is open, confirmed
 * with it, free and joined again when it is cancelled. If several appointments use a slot, it gets the status that the most
 * binding one requires. The operation is idempotent.
 *
 * @param appointment - as it is or is about to be
 * @param newId - gives a fresh `urn:uuid:` for each new slot
 * @see specification section 3
 */
export function slotEntries(
  appointment: Appointment,
  { fragments, lost, neverOffered = new Set(), setByHand: byHand = new Set() }: RelatedSlots,
  config: SlotSyncConfig,
  newId: () => string,
): BundleEntry[] {
  const originSystem = artefactUri(config, 'LocalSlotOrigin');
  const stored = calendarOf(fragments.slots, originSystem, fragments.uses);
  if (holdsSlots(appointment)) {
    return calendarEntries(withTaken(stored, appointment, newId), originSystem);
  }
  const isGivenBack = ({ id }: Slot): boolean =>
    fragments.slots.some(({ meta }) => meta?.tag?.some(({ system, code }) => system === originSystem && code === id));
  // A published slot is published again by itself.
  const missing = lost.filter((slot) => !isGivenBack(slot) && publishedKeyOf(slot, config)?.kind !== 'offer');
  const { calendar, restoredFrom } = withLost(stored, missing, originSystem, newId);
  const givenBack = slotIdsOf(appointment).filter((id) => !isHeld(fragments.uses.get(id)));
  const changed = calendarEntries(withGivenBack(calendar, appointment, neverOffered, byHand), originSystem);
  return [
    ...changed.map((entry) => onlyOnce(entry, restoredFrom.get(entry.fullUrl ?? ''), originSystem)),
    ...bufferRemovals(fragments.slots, givenBack, config),
  ];
}

/** The slots from which those of an appointment were split off, as far as the slots are known. */
export function originsOf(slots: readonly Slot[], config: SlotSyncConfig): string[] {
  const originSystem = artefactUri(config, 'LocalSlotOrigin');
  return [...new Set([...calendarOf(slots, originSystem).values()].map(({ origin }) => origin))];
}

/**
 * The last version of a deleted slot, if the slot had ever been offered. A slot that Medplum creates for a single
 * appointment is never free, and stays deleted with it. A slot that was free when the clinic deleted it is not offered
 * again, however late the job of a cancellation runs.
 *
 * @param history - of the slot, the newest version first
 */
export function lostOffer(history: Bundle): Slot | undefined {
  const versions = (history.entry ?? []).flatMap(({ resource }) => (isResource(resource, 'Slot') ? [resource] : []));
  const [last] = versions;
  return last && isTaken(last.status) && versions.some(({ status }) => status === 'free') ? last : undefined;
}
