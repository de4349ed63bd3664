import type { Slot } from '@medplum/fhirtypes';
import { canonicalJson } from '../../fhir/canonical-json.ts';
import { parseInstant } from '../../fhir/instant.ts';
import type { Interval } from '../../time/interval.ts';
import type { ServiceCalendar } from '../parameters/schedule-calendar.ts';
import { formatKey, type WantedSlot } from '../slots/published-slot.ts';
import { isTaken, type PlacedSlot } from '../slots/slot-role.ts';
import { isStillOpen } from './offers.ts';
import { type SlotChange, withdrawal } from './slot-change.ts';

/** What published Slots are compared with. */
export interface PublishedTarget {
  readonly wanted: readonly WantedSlot[];
  readonly calendars: readonly ServiceCalendar[];
  readonly takings: readonly PlacedSlot[];
  /** Ids of Slots that must not be changed although they look free. */
  readonly held: ReadonlySet<string>;
  readonly now: number;
  /** Slots that begin outside it are not changed. */
  readonly window: Interval;
}

/** The elements of a published Slot that follow its service; all others stay as they are. */
const publishedElements = ['schedule', 'serviceCategory', 'serviceType', 'specialty'] as const;

function isAsWanted(stored: Slot, { resource, start, end }: WantedSlot): boolean {
  return (
    stored.status === resource.status &&
    parseInstant(stored.start) === start &&
    parseInstant(stored.end) === end &&
    publishedElements.every((name) => canonicalJson(stored[name]) === canonicalJson(resource[name]))
  );
}

/** A stored Slot with the elements that it should have; elements that the service does not publish stay. */
function restored(stored: Slot, { resource }: WantedSlot): Slot {
  const rest: Partial<Slot> = { ...stored };
  for (const name of publishedElements) {
    delete rest[name];
  }
  return { ...rest, ...resource, meta: stored.meta, identifier: stored.identifier };
}

/** A published Slot and what was split off from it. */
interface Family {
  readonly origin: string;
  readonly members: readonly PlacedSlot[];
  /** Whether any of it is booked, held or blocked: then it is not offered again. */
  readonly isHeld: boolean;
}

function families(slots: readonly PlacedSlot[], held: ReadonlySet<string>): Family[] {
  const byOrigin = new Map<string, PlacedSlot[]>();
  for (const slot of slots) {
    byOrigin.set(slot.origin, [...(byOrigin.get(slot.origin) ?? []), slot]);
  }
  return [...byOrigin].map(([origin, members]) => ({
    origin,
    members,
    isHeld: members.some(({ id, resource }) => isTaken(resource) || held.has(id)),
  }));
}

/** The free part of a published Slot stays on offer while another part is held, as long as the service is open. */
function withdrawnRests({ members, origin }: Family, { calendars, takings, held, now }: PublishedTarget): SlotChange[] {
  return members
    .filter(({ id, resource, start }) => resource.status === 'free' && start >= now && !held.has(id))
    .filter(({ role, start, end }) => {
      const calendar = calendars.find(({ service }) => role.kind === 'published' && service.id === role.key.service);
      return !calendar || !isStillOpen({ start, end }, calendar, takings);
    })
    .map(({ resource }) => withdrawal(resource, origin));
}

/** The changes to the stored Slots of one key: one of them becomes the wanted Slot, the others are withdrawn. */
function keyChanges(stored: readonly Family[], wanted: WantedSlot | undefined, now: number): SlotChange[] {
  const roots = stored.flatMap(({ origin, members }) => members.find(({ id }) => id === origin) ?? []);
  const isFree = ({ resource }: PlacedSlot): boolean => resource.status === 'free';
  const kept = wanted && (roots.find(isFree) ?? roots[0]);
  const group = kept?.id ?? stored[0]?.origin ?? wanted?.key ?? '';
  const change: SlotChange[] =
    !wanted || (kept && isAsWanted(kept.resource, wanted))
      ? []
      : [
          kept
            ? { stored: kept.resource, resource: restored(kept.resource, wanted), group }
            : { stored: undefined, resource: wanted.resource, group },
        ];
  const superfluous = stored
    .flatMap(({ members }) => members)
    .filter((slot) => slot !== kept && isFree(slot) && slot.start >= now);
  return [...change, ...superfluous.map(({ resource }) => withdrawal(resource, group))];
}

const isNear =
  (window: Interval) =>
  ({ start }: Interval): boolean =>
    window.start <= start && start < window.end;

function keyOf({ members }: Family): string {
  const [{ role } = {}] = members;
  return role?.kind === 'published' ? formatKey(role.key) : '';
}

/**
 * The changes that turn the published Slots into the wanted ones: each exists once, under its key, and Slots that no
 * longer fit are withdrawn. Slots that are booked, held or blocked, or that began in the past, are not changed.
 *
 * @param published - those of the Schedule, and the fragments split off from them
 */
export function publishedChanges(published: readonly PlacedSlot[], target: PublishedTarget): SlotChange[] {
  const { wanted, held, now, window } = target;
  const all = families(published, held).filter(({ members }) => members.some(isNear(window)));
  const rests = all.filter(({ isHeld }) => isHeld).flatMap((family) => withdrawnRests(family, target));
  const stored = new Map<string, Family[]>(wanted.map(({ key }) => [key, []]));
  for (const family of all.filter(({ isHeld }) => !isHeld)) {
    stored.set(keyOf(family), [...(stored.get(keyOf(family)) ?? []), family]);
  }
  const byKey = new Map(wanted.map((slot) => [slot.key, slot]));
  return [...rests, ...[...stored].flatMap(([key, found]) => keyChanges(found, byKey.get(key), now))];
}

/**
 * The published Slots whose time is not offered again: those that are booked, held or blocked, and other fragments of
 * the same Slot.
 */
export function heldPublished(published: readonly PlacedSlot[], held: ReadonlySet<string>): PlacedSlot[] {
  return families(published, held)
    .filter(({ isHeld }) => isHeld)
    .flatMap(({ members }) => members);
}
