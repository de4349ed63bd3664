import type { BundleEntry, Slot } from '@medplum/fhirtypes';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { updateEntry } from '../../fhir/update-entry.ts';
import { type Interval, intersection, remainders } from '../../time/interval.ts';
import {
  isHeld,
  isTaken,
  type SlotUse,
  type SlotUses,
  slotStatusOf,
  type TakenStatus,
} from '../appointment/slot-use.ts';

/**
 * A Slot in the calendar of a booking. A stored slot has its resource; a new one, created by a split, has none yet, and its
 * id is the `urn:uuid:` of its transaction entry.
 */
export interface CalendarSlot extends Interval {
  readonly id: string;
  readonly status: Slot['status'];
  /** The slot from which this one was split off, or the slot itself. All fragments of a slot have the same origin. */
  readonly origin: string;
  /** The stored resource or, for a new one, the resource it was split off from. */
  readonly resource: Slot;
  readonly isNew: boolean;
  /** How the appointments that refer to it use it. */
  readonly use: SlotUse | undefined;
}

/** The Slots of a booking, by id. Immutable: every operation returns a new calendar. */
export type Calendar = ReadonlyMap<string, CalendarSlot>;

/** The elements of a slot besides its time, which all fragments of a split slot share. */
const offerElements = ['meta', 'schedule', 'serviceCategory', 'serviceType', 'specialty', 'appointmentType'] as const;

/** A Slot resource as the calendar sees it, or `undefined` if its times cannot be read. */
function toCalendarSlot(resource: Slot, originSystem: string, uses: SlotUses): CalendarSlot | undefined {
  const start = parseInstant(resource.start);
  const end = parseInstant(resource.end);
  if (resource.id === undefined || start === undefined || end === undefined) {
    return undefined;
  }
  const origin = resource.identifier?.find(({ system }) => system === originSystem)?.value ?? resource.id;
  const { id, status } = resource;
  return { id, start, end, status, origin, resource, isNew: false, use: uses.get(id) };
}

/**
 * The calendar of stored Slots.
 *
 * @param slots - as read; those without readable times are left out, because they cannot be booked
 * @param originSystem - identifier system under which a slot names the one it was split off from
 * @param uses - how appointments refer to the slots, where that is known
 */
export function calendarOf(slots: readonly Slot[], originSystem: string, uses: SlotUses = new Map()): Calendar {
  const entries = slots.map((slot) => toCalendarSlot(slot, originSystem, uses)).filter((slot) => slot !== undefined);
  return new Map(entries.map((slot) => [slot.id, slot]));
}

function withSlots(calendar: Calendar, slots: readonly CalendarSlot[]): Calendar {
  return new Map([...calendar, ...slots.map((slot) => [slot.id, slot] as const)]);
}

/**
 * Takes an interval out of a slot: the slot is narrowed to it and gets the given status; the rest before and after it
 * becomes new free slots. The total time stays the same. Absorbed slots that no appointment refers to are reused before
 * new ones are created.
 *
 * @param id - a slot of the calendar
 * @param interval - the time wanted; what lies outside the slot is not taken
 * @param status - `busy` or `busy-tentative`
 * @param newId - gives a fresh `urn:uuid:` for each new slot
 */
export function take(
  calendar: Calendar,
  id: string,
  interval: Interval,
  status: TakenStatus,
  newId: () => string,
): Calendar {
  const slot = calendar.get(id);
  const taken = slot && intersection(slot, interval);
  if (!slot || !taken) {
    return calendar;
  }
  const emptied = [...calendar.values()].filter(
    ({ status, origin, use }) => status === 'entered-in-error' && origin === slot.origin && use === undefined,
  );
  const rest = remainders(slot, taken).map((left, index): CalendarSlot => {
    const fragment = emptied[index] ?? { ...slot, id: newId(), isNew: true, use: undefined };
    return { ...fragment, ...left, status: 'free' };
  });
  return withSlots(calendar, [{ ...slot, ...taken, status }, ...rest]);
}

/**
 * Releases a slot: it becomes free or, if other appointments use it, gets the status that they require. A slot that is
 * neither `busy` nor `busy-tentative` stays unchanged.
 */
export function release(calendar: Calendar, id: string): Calendar {
  const slot = calendar.get(id);
  if (!slot || !isTaken(slot.status)) {
    return calendar;
  }
  const needed = isHeld(slot.use) ? (slotStatusOf(slot.use) ?? slot.status) : 'free';
  return withSlots(calendar, [{ ...slot, status: needed }]);
}

/**
 * Joins adjacent free fragments of a slot: the original slot, or else the earlier fragment, absorbs the other one. The
 * absorbed slot becomes `entered-in-error` instead of being deleted, so that its version protects the transaction against a
 * concurrent booking. Fragments that an open appointment refers to stay unchanged.
 */
export function join(calendar: Calendar): Calendar {
  const free = [...calendar.values()].filter(({ status }) => status === 'free').sort((a, b) => a.start - b.start);
  const changed = new Map<string, CalendarSlot>();
  const latest = new Map<string, CalendarSlot>();
  for (const slot of free) {
    const before = latest.get(slot.origin);
    const emptied =
      before?.end === slot.start
        ? [slot, before].find(({ id, origin, use }) => !isHeld(use) && id !== origin)
        : undefined;
    if (!before || !emptied) {
      latest.set(slot.origin, slot);
      continue;
    }
    const kept = emptied === slot ? before : slot;
    const grown: CalendarSlot = { ...kept, start: before.start, end: slot.end };
    changed.set(emptied.id, { ...emptied, status: 'entered-in-error' }).set(grown.id, grown);
    latest.set(slot.origin, grown);
  }
  return changed.size > 0 ? withSlots(calendar, [...changed.values()]) : calendar;
}

function hasChanged({ resource, status, start, end }: CalendarSlot): boolean {
  return status !== resource.status || start !== parseInstant(resource.start) || end !== parseInstant(resource.end);
}

function newFragment({ resource, origin, status, start, end }: CalendarSlot, originSystem: string): Slot {
  const offer = Object.fromEntries(
    offerElements.filter((name) => resource[name] !== undefined).map((name) => [name, resource[name]]),
  );
  return {
    resourceType: 'Slot',
    schedule: resource.schedule,
    ...offer,
    ...(resource.meta && { meta: { profile: resource.meta.profile, tag: resource.meta.tag } }),
    identifier: [{ system: originSystem, value: origin }],
    status,
    start: formatInstant(start),
    end: formatInstant(end),
  };
}

/**
 * A Slot that is taken names its origin, which is itself if it was never split, so that it can be told from one that was
 * never on offer (`isUnmarked`). One that has identifiers keeps them unchanged; its history tells whether it was on offer.
 */
function markedAsOffer({ resource, origin, status }: CalendarSlot, originSystem: string): Slot {
  return isTaken(status) && !resource.identifier?.length
    ? { ...resource, identifier: [{ system: originSystem, value: origin }] }
    : resource;
}

/**
 * The transaction entries that store the changed Slots of the calendar, each only if it still has the version that was read.
 *
 * @param originSystem - identifier system under which a new slot names the one it was split off from
 * @see https://hl7.org/fhir/R4/http.html#concurrency
 */
export function calendarEntries(calendar: Calendar, originSystem: string): BundleEntry[] {
  return [...calendar.values()]
    .filter((slot) => slot.isNew || hasChanged(slot))
    .map((slot): BundleEntry => {
      if (slot.isNew) {
        return {
          fullUrl: slot.id,
          request: { method: 'POST', url: 'Slot' },
          resource: newFragment(slot, originSystem),
        };
      }
      const { resource, status, start, end } = slot;
      const marked = markedAsOffer(slot, originSystem);
      return updateEntry(resource, { ...marked, status, start: formatInstant(start), end: formatInstant(end) });
    });
}
