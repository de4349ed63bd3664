import type { BundleEntry, Slot } from '@medplum/fhirtypes';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { updateEntry } from '../../fhir/update-entry.ts';
import {
  isHeld,
  isTaken,
  type SlotUse,
  type SlotUses,
  slotStatusOf,
  type TakenStatus,
} from '../appointment/slot-use.ts';
import { type Interval, intersection, remainders } from './interval.ts';

/**
 * A Slot in the calendar that a booking works on. Those that are stored keep their resource; new ones, which come
 * into being when a slot is split, have none yet and carry the `urn:uuid:` of their transaction entry as id.
 */
export interface CalendarSlot extends Interval {
  readonly id: string;
  readonly status: Slot['status'];
  /** The slot from which this one was split off, or itself: what was once one slot has one origin. */
  readonly origin: string;
  /** The stored resource or, for a new one, the resource it was split off from. */
  readonly resource: Slot;
  readonly isNew: boolean;
  /** How the appointments that refer to it use it. */
  readonly use: SlotUse | undefined;
}

/** The Slots that a booking works on, by id. Every operation gives a new calendar and leaves the old one as it was. */
export type Calendar = ReadonlyMap<string, CalendarSlot>;

/** What belongs to an offer besides its time; the fragments of a split slot have all of it in common. */
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
 * @param slots - as read; what has no readable times is left out, for it cannot be booked
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
 * Takes a stretch of time out of a slot: the slot is narrowed to it and gets the given status, and what is left before
 * and after becomes free slots of their own. Minutes are conserved. Emptied slots that no appointment refers to are used
 * again before new ones are made.
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
 * Gives a slot back: it is free again or, where the calendar knows of other appointments that hold it, what those need.
 * One that is neither busy nor tentatively busy stays what it is.
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
 * Joins adjacent free fragments of what was one slot: the origin, else the earlier, grows over the other, which is emptied.
 * An emptied slot becomes `entered-in-error` instead of being deleted, so that its version guards the transaction
 * against a booking of it at the same moment. Fragments that an open appointment refers to stay as they are.
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
 * A Slot that is taken names where it comes from, itself if it was never split: so that it can be told from one that was
 * never on offer (`isUnmarked`). One that has identifiers keeps them as they are; its history tells.
 */
function markedAsOffer({ resource, origin, status }: CalendarSlot, originSystem: string): Slot {
  return isTaken(status) && !resource.identifier?.length
    ? { ...resource, identifier: [{ system: originSystem, value: origin }] }
    : resource;
}

/**
 * The transaction entries that bring the stored Slots to the state of the calendar: each changed one is written only
 * if it still has the version that was read.
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
