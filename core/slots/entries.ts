import type { BundleEntry, Slot } from '@medplum/fhirtypes';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { parseInstant } from '../fhir/instant.ts';
import { updateEntry } from '../fhir/resource.ts';
import { overlaps } from '../time/interval.ts';
import { bookableSlotResource, type Calendar, type CalendarSlot, newCalendarSlot, takesTimeOf } from './slot.ts';
import type { ScheduleServices, TermsOf } from './terms.ts';

/** A Slot to create, or to change if it still has the version that was read. */
export interface SlotChange {
  readonly stored: Slot | undefined;
  readonly resource: Slot;
  /** Changes with the same value must be written together. */
  readonly group: string;
  /** The reference that other entries of the transaction use for a new Slot. */
  readonly fullUrl?: string;
}

/** Returns the transaction entries for released time; `now` in milliseconds since 1970 UTC. */
export type Released = (
  changes: readonly SlotChange[],
  schedules: readonly ScheduleServices[],
  now: number,
  config: PublicConfig,
) => BundleEntry[];

function isChanged(slot: CalendarSlot, earlier: CalendarSlot | undefined): boolean {
  const elements = ['status', 'start', 'end', 'role', 'revision', 'lane', 'resource'] as const;
  return slot.isNew || !earlier || elements.some((name) => slot[name] !== earlier[name]);
}

function withoutNewId({ resource, isNew }: CalendarSlot): Slot {
  const { id: _, ...rest } = resource;
  return isNew ? rest : resource;
}

function resourceOf(slot: CalendarSlot, before: Calendar, config: PublicConfig): Slot {
  const isBookable = slot.role === 'bookable' || before.get(slot.id)?.role === 'bookable';
  return isBookable ? bookableSlotResource(slot, config) : { ...withoutNewId(slot), status: slot.status };
}

/** The changes that turn a calendar into another one, without deletions. New Slots that are entered-in-error are not stored. */
export function slotChanges(before: Calendar, after: Calendar, config: PublicConfig): SlotChange[] {
  return [...after.values()]
    .filter(
      (slot) => isChanged(slot, before.get(slot.id)) && (before.has(slot.id) || slot.status !== 'entered-in-error'),
    )
    .map((slot) => ({
      stored: before.get(slot.id)?.resource,
      resource: resourceOf(slot, before, config),
      group: slot.origin,
      ...(slot.isNew && slot.id.startsWith('urn:') && { fullUrl: slot.id }),
    }));
}

/** The transaction entries for the changes. */
export function slotChangeEntries(changes: readonly SlotChange[]): BundleEntry[] {
  return changes.map(({ stored, resource, fullUrl }) =>
    stored
      ? updateEntry(stored, resource)
      : { ...(fullUrl && { fullUrl }), request: { method: 'POST', url: 'Slot' }, resource },
  );
}

/** The transaction entry that gives a bookable Slot a new version, if it still has the one that was read. */
export const touchEntry = (slot: CalendarSlot, config: PublicConfig): BundleEntry =>
  updateEntry(slot.resource, bookableSlotResource({ ...slot, revision: slot.revision + 1 }, config));

/** The transaction entries that turn a stored calendar into another one, deletions included. */
export function calendarEntries(before: Calendar, after: Calendar, config: PublicConfig): BundleEntry[] {
  const deleted = [...before.keys()]
    .filter((id) => !after.has(id))
    .map((id): BundleEntry => ({ request: { method: 'DELETE', url: `Slot/${id}` } }));
  return [...slotChangeEntries(slotChanges(before, after, config)), ...deleted];
}

/**
 * The free Slots that new Slots exclude. They get a new version together with the new Slots. A booking that read the
 * calendar before then fails, and its repetition withdraws the new Slots.
 */
export function besideNew(
  changes: readonly SlotChange[],
  calendar: Calendar,
  termsOf: TermsOf,
  config: PublicConfig,
): CalendarSlot[] {
  const created = changes.flatMap(({ stored, resource }) =>
    !stored && resource.status === 'free' ? (newCalendarSlot('', resource, config) ?? []) : [],
  );
  const isChanging = (slot: CalendarSlot): boolean => changes.some(({ stored }) => stored?.id === slot.id);
  const isExcluded = (slot: CalendarSlot): boolean =>
    created.some((one) => {
      const { before, after, services } = termsOf(one);
      const reach = { start: one.start - before - after, end: one.end + before + after };
      return overlaps(slot, reach) && takesTimeOf(slot, one, services);
    });
  return [...calendar.values()].filter(
    (slot) => slot.role === 'bookable' && slot.status === 'free' && !isChanging(slot) && isExcluded(slot),
  );
}

/** The time that orders changes: a Slot is withdrawn before the overlapping Slots that replace it are created. */
function orderingTime({ resource }: SlotChange): number {
  return parseInstant(resource.status === 'entered-in-error' ? resource.start : resource.end) ?? 0;
}

/**
 * Divides the changes into chunks to be written one after the other, the earliest time first. Changes of one group stay
 * together, so a chunk can have more than `size` changes; only the last one can have fewer.
 */
export function chunks(changes: readonly SlotChange[], size: number): SlotChange[][] {
  const ordered = [...Map.groupBy(changes, ({ group }) => group).values()]
    .map((group) => ({ group, latest: Math.max(...group.map(orderingTime)) }))
    .sort((a, b) => a.latest - b.latest);
  const result: SlotChange[][] = [];
  for (const { group } of ordered) {
    const last = result.at(-1);
    if (last && last.length < size) {
      last.push(...group);
    } else {
      result.push([...group]);
    }
  }
  return result;
}
