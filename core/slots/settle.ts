import type { PublicConfig } from '../fhir/artefacts.ts';
import { isBuffer } from '../fhir/scheduling/slot-marks.ts';
import {
  type Interval,
  type IntervalSet,
  intersect,
  intersection,
  overlaps,
  subtract,
  union,
} from '../time/interval.ts';
import {
  bufferOf,
  type Calendar,
  type CalendarSlot,
  isBooked,
  isHeld,
  occupies,
  slotStatusOf,
  type TakenStatus,
  takesTimeOf,
} from './slot.ts';
import type { Terms, TermsOf } from './terms.ts';

/**
 * Occupies a time in Slots of the calendar: each is narrowed to its part of the interval and gets the given status.
 * `settle` then adapts the rest of these Slots and every other bookable slot that the change excludes.
 */
export function withTaken(
  calendar: Calendar,
  ids: readonly string[],
  interval: Interval,
  status: TakenStatus,
): Calendar {
  const result = new Map(calendar);
  for (const id of ids) {
    const slot = calendar.get(id);
    const part = slot && intersection(slot, interval);
    if (part) {
      result.set(id, { ...slot, ...part, status });
    }
  }
  return result;
}

/**
 * Releases Slots and removes their buffers. A bookable slot is free again, an external busy slot becomes
 * entered-in-error. A Slot that other appointments hold gets the status that they require. A blocked Slot
 * stays blocked. `ids` may contain deleted Slots.
 */
export function withGivenBack(calendar: Calendar, ids: readonly string[], config: PublicConfig): Calendar {
  const result = new Map(calendar);
  const gone = new Set<string>();
  for (const id of ids) {
    const slot = calendar.get(id);
    if (slot && isHeld(slot.use)) {
      if (isBooked(slot)) {
        result.set(id, { ...slot, status: slotStatusOf(slot.use) ?? slot.status });
      }
      continue;
    }
    // The buffers of a Slot are removed even if somebody deleted the Slot.
    gone.add(id);
    if (slot?.role === 'bookable' && isBooked(slot)) {
      result.set(id, { ...slot, status: 'free' });
    } else if (slot?.role === 'external' && (isBooked(slot) || isBuffer(slot.resource))) {
      result.set(id, { ...slot, status: 'entered-in-error', role: 'ended' });
    }
  }
  // Buffers are deleted, as Medplum's `$cancel` does.
  const isGone = ({ role, resource }: CalendarSlot): boolean =>
    role === 'buffer' && gone.has(bufferOf(resource, config) ?? '');
  return new Map([...result].filter(([, slot]) => !isGone(slot)));
}

interface SettleContext {
  readonly termsOf: TermsOf;
  /** Returns a new `urn:uuid:` for each new part of a bookable slot. */
  readonly newId: () => string;
  /** Time in which every bookable slot is worked out again. All Slots within reach must be known. */
  readonly renewed?: Interval;
  /** The stored calendar, if `before` differs from it. */
  readonly stored?: Calendar;
  /** Only bookable slots with `true` are changed; by default all. */
  readonly isOpen?: (bookable: CalendarSlot) => boolean;
}

/** The time in which a busy Slot leaves no room for an appointment, buffers included. */
function widened({ start, end }: Interval, { before, after }: Terms): Interval {
  return { start: start - after, end: end + before };
}

const isFree = (slot: CalendarSlot): boolean => slot.status === 'free' && !occupies(slot);

/** The parts of one bookable slot, in a calendar before and after a change. */
interface BookableParts {
  readonly sample: CalendarSlot;
  readonly whole: Interval;
  readonly slots: readonly CalendarSlot[];
  readonly freeBefore: readonly CalendarSlot[];
  readonly terms: Terms;
}

const keyOf = ({ schedule, origin }: CalendarSlot): string => `${schedule}/${origin}`;

/** The bookable slots of the calendar `after`. `sample` is the original Slot, else any part of it. */
function bookablePartsIn(before: Calendar, after: Calendar, termsOf: TermsOf): BookableParts[] {
  const bookable = (calendar: Calendar) => [...calendar.values()].filter(({ role }) => role === 'bookable');
  const earlier = Map.groupBy(bookable(before), keyOf);
  return [...Map.groupBy(bookable(after), keyOf)].flatMap(([key, slots]): BookableParts[] => {
    const [sample] = slots.toSorted((a, b) => Number(b.id === b.origin) - Number(a.id === a.origin));
    const all = [...slots, ...(earlier.get(key) ?? [])];
    const whole = {
      start: Math.min(...all.map((slot) => slot.whole.start)),
      end: Math.max(...all.map((slot) => slot.whole.end)),
    };
    const freeBefore = (earlier.get(key) ?? []).filter(isFree);
    return sample ? [{ sample, whole, slots, freeBefore, terms: termsOf(sample) }] : [];
  });
}

/** The Slots that occupy time in one calendar and not, or elsewhere, in the other. */
function takenOnlyIn(calendar: Calendar, other: Calendar): CalendarSlot[] {
  return [...calendar.values()].filter((slot) => {
    const same = other.get(slot.id);
    const isSame = same && occupies(same) && same.start === slot.start && same.end === slot.end;
    return occupies(slot) && !isSame;
  });
}

const isSameTime = (interval: Interval, other: Interval): boolean =>
  interval.start === other.start && interval.end === other.end;

/**
 * The free pieces of a bookable slot. `regained` had been too short: neither free before nor released now.
 */
function piecesOf(parts: BookableParts, released: IntervalSet, taken: readonly CalendarSlot[]) {
  const { whole, slots, freeBefore, terms } = parts;
  const free = [...slots.filter(isFree), ...freeBefore];
  const reach = terms.shortest;
  const wide = released.map(({ start, end }) => ({ start: start - reach, end: end + reach }));
  const possible = union([...free, ...intersect(union(wide), [whole])]);
  const left = subtract(possible, union(taken.map((slot) => widened(slot, terms))));
  const pieces = left.filter(
    (piece) =>
      piece.end - piece.start >= terms.shortest || slots.some((slot) => isFree(slot) && isSameTime(slot, piece)),
  );
  return { pieces, regained: subtract(subtract(pieces, union(free)), released) };
}

/**
 * Assigns the free pieces to Slots: a Slot of the same time stays, then the original Slot, then other parts, then new
 * Slots.
 */
function withAssigned(parts: BookableParts, pieces: IntervalSet, newId: () => string): CalendarSlot[] {
  const { sample, whole, slots } = parts;
  const open = slots.filter((slot) => !occupies(slot));
  const kept = open.filter((slot) => isFree(slot) && pieces.some((piece) => isSameTime(piece, slot)));
  const others = open.filter((slot) => !kept.includes(slot));
  const left = pieces.filter((piece) => !kept.some((slot) => isSameTime(piece, slot)));
  const rank = (slot: CalendarSlot, piece: Interval): number =>
    slot.id === slot.origin ? 0 : isFree(slot) && overlaps(slot, piece) ? 1 : 2;
  const result: CalendarSlot[] = [];
  for (const piece of left) {
    const [best] = others.toSorted((slot, other) => rank(slot, piece) - rank(other, piece) || slot.start - other.start);
    if (best) {
      others.splice(others.indexOf(best), 1);
    }
    const base = best ?? { ...sample, id: newId(), isNew: true, use: undefined, revision: 0, isByHand: false };
    result.push({ ...base, ...piece, whole, status: 'free', role: 'bookable' });
  }
  const isGone = pieces.length === 0 && slots.every((slot) => !occupies(slot));
  const [representative] = others.toSorted((slot, other) => rank(slot, whole) - rank(other, whole));
  return [
    ...result,
    ...others.map((slot): CalendarSlot => {
      // One Slot represents a bookable slot without free time, so that it can be restored and locked.
      const stays = isGone && slot === representative;
      return stays
        ? { ...slot, ...whole, whole, status: 'entered-in-error' }
        : { ...slot, whole: slot, status: 'entered-in-error', role: 'ended' };
    }),
  ];
}

const isChanged = (slot: CalendarSlot, other: CalendarSlot | undefined): boolean =>
  other === undefined || slot.status !== other.status || slot.role !== other.role || !isSameTime(slot, other);

/**
 * Adapts the bookable slots of a calendar to a change of busy time. In every lane in which time was occupied or
 * released, buffers included, bookable slots are narrowed, withdrawn, restored or joined. Bookings, moves,
 * cancellations, external busy slots and opening hours all use this function.
 *
 * If a bookable slot stays unchanged although the change excludes it, one of its Slots gets a new `revision`, and so a
 * new version. The bookable slot thus is its own lock: every change of busy time writes all bookable slots that it
 * excludes.
 * @param before - the stored calendar, or a calendar in which Slots were released
 * @param after - the same with the Slots that the change occupies or releases; a released Slot is free or entered-in-error
 * @returns `after` with its bookable slots adapted; Slots without bookable time are `entered-in-error`
 */
export function settle(before: Calendar, after: Calendar, context: SettleContext): Calendar {
  const { termsOf, newId, renewed, stored = before, isOpen = () => true } = context;
  const [occupied, released] = [takenOnlyIn(after, before), takenOnlyIn(before, after)];
  const taken = [...after.values()].filter(occupies);
  const result = new Map(after);
  for (const parts of bookablePartsIn(before, after, termsOf)) {
    const { sample, whole, terms, slots } = parts;
    const excludes = (slot: CalendarSlot): boolean =>
      overlaps(widened(slot, terms), whole) && takesTimeOf(slot, sample, terms.services);
    const change = [...occupied, ...released].filter(excludes);
    const isRenewed = renewed !== undefined && overlaps(whole, renewed);
    if (!isOpen(sample) || (change.length === 0 && !isRenewed)) {
      continue;
    }
    const releasedTime = union([
      ...released.filter(excludes).map((slot) => widened(slot, terms)),
      ...(isRenewed ? [renewed] : []),
    ]);
    const takenAround = taken.filter(excludes);
    const { pieces, regained } = piecesOf(parts, releasedTime, takenAround);
    const settled = withAssigned(parts, pieces, newId);
    for (const slot of settled) {
      result.set(slot.id, slot);
    }
    for (const slot of slots.filter(occupies)) {
      result.set(slot.id, { ...slot, whole, ...(occupied.includes(slot) && { capacity: terms.capacity }) });
    }
    lockUnchanged(result, stored, change.length > 0, settled, regained.length > 0 && !isRenewed ? takenAround : []);
  }
  return result;
}

/**
 * Increments the `revision` in `result` of bookable Slots that stay as they are stored: withdrawn ones that a change
 * excludes (`isConcerned`), and neighbours of regained time.
 */
function lockUnchanged(
  result: Map<string, CalendarSlot>,
  stored: Calendar,
  isConcerned: boolean,
  settled: readonly CalendarSlot[],
  neighbours: readonly CalendarSlot[],
): void {
  const withdrawn = settled.filter(({ role, status }) => role === 'bookable' && status === 'entered-in-error');
  const unchanged = (slots: readonly CalendarSlot[]) =>
    slots.filter((slot) => !slot.isNew && slot.role === 'bookable' && !isChanged(slot, stored.get(slot.id)));
  // A rest that returns had been too short between two appointments. A release of the other one must notice it.
  for (const slot of [...(isConcerned ? unchanged(withdrawn) : []), ...unchanged(neighbours)]) {
    const current = result.get(slot.id) ?? slot;
    result.set(slot.id, { ...current, revision: current.revision + 1 });
  }
}
