import type { HealthcareService, Schedule, Slot } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { canonicalJson } from '../../fhir/resource.ts';
import { payerKindsOf, publishedKeyOf, publishedValueOf } from '../../fhir/scheduling/slot-marks.ts';
import { type SlotChange, slotChanges } from '../../slots/entries.ts';
import { settle } from '../../slots/settle.ts';
import {
  BY_HAND,
  type Calendar,
  type CalendarSlot,
  calendarOf,
  newCalendarSlot,
  occupies,
  type SlotUses,
} from '../../slots/slot.ts';
import { type TermsOf, termsFor } from '../../slots/terms.ts';
import { type Interval, intersection, overlaps } from '../../time/interval.ts';
import { DAY } from '../../time/time-zone.ts';
import type { Publishing, ServiceCalendar } from '../parameters/schedule-calendar.ts';
import { type CalendarProblem, combine } from '../problem.ts';
import type { Closure } from '../time/not-available.ts';
import { publishedPeriod, type WantedSlot, wantedSlots } from './bookable-slots.ts';
import { closedSlots } from './closed-days.ts';

/** The input for publishing one Schedule. */
export interface PublishState {
  readonly schedule: Schedule & { readonly id: string };
  readonly services: readonly HealthcareService[];
  readonly publishing: Publishing;
  /** The period to publish. Slots that begin outside it are neither published nor withdrawn. */
  readonly window: Interval;
  /** All Slots of the Schedule within `slotsToRead(window)`, of any status. */
  readonly slots: readonly Slot[];
  /** Ids of Slots that open appointments refer to. They are not changed, whatever their status. */
  readonly held: ReadonlySet<string>;
  readonly closedDays: readonly Closure[];
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
  readonly horizonWeeks: number;
}

/** The distance at which Slots outside a window influence it, in milliseconds: an appointment with both its buffers. */
const MARGIN = 3 * DAY;

/** The period whose Slots must be known to decide about a window. */
export function slotsToRead({ start, end }: Interval): Interval {
  return { start: start - MARGIN, end: end + MARGIN };
}

/** The changes that make the Slots of a Schedule match its opening hours and its busy time. */
export interface PublishPlan {
  readonly changes: readonly SlotChange[];
  /** Problems of the opening hours, which keep published Slots as they are, and problems of closures. */
  readonly problems: readonly CalendarProblem[];
}

/** The Slots that the opening hours and the closed days require. */
interface Wanted {
  readonly calendars: readonly { readonly calendar: ServiceCalendar; readonly period: Interval }[];
  readonly blocks: ReturnType<typeof closedSlots>;
}

function ahead({ start, end }: Interval, now: number): Interval {
  return { start: Math.max(start, now), end };
}

/** The calendars with their periods near the window, and the blocks of closed days. Invalid periods give no `value`. */
function wantedOf({ schedule, publishing, closedDays, now, window, horizonWeeks }: PublishState, config: PublicConfig) {
  const calendars = publishing.kind === 'on' ? publishing.calendars : [];
  const periods = combine(
    calendars.map((calendar) => {
      const { value, problems } = publishedPeriod(schedule, calendar.parameters.timeZone, now, horizonWeeks);
      const near = value && intersection(value, slotsToRead(window));
      return { value: near ? [{ calendar, period: near }] : [], problems };
    }),
  );
  const [first] = periods.value ?? [];
  const blocks = first
    ? closedSlots(schedule, closedDays, first.calendar.parameters.timeZone, ahead(first.period, now), config)
    : { value: [], problems: [], isComplete: true };
  const value: Wanted | undefined = periods.value && { calendars: periods.value, blocks };
  return { value, problems: [...periods.problems, ...blocks.problems] };
}

function add(calendar: Map<string, CalendarSlot>, slot: CalendarSlot | undefined): void {
  if (slot) {
    calendar.set(slot.id, slot);
  }
}

/**
 * Adds and removes the blocks of closed days, one a day. A block that staff have opened stays open. No block is removed
 * while a closure cannot be read.
 */
function withBlocks(
  calendar: Calendar,
  { value: wanted, isComplete }: Wanted['blocks'],
  window: Interval,
  now: number,
  config: PublicConfig,
) {
  const result = new Map(calendar);
  const isNear = ({ start }: Interval): boolean => window.start <= start && start < window.end;
  const stored = [...calendar.values()].filter(
    (slot) => publishedKeyOf(slot.resource, config)?.kind === 'closed' && isNear(slot) && slot.end > now,
  );
  const keyOf = ({ resource }: CalendarSlot): string | undefined => publishedValueOf(resource, config);
  const isNoLongerClosed = (slot: CalendarSlot): boolean =>
    isComplete && slot.role === 'external' && !wanted.some(({ key }) => key === keyOf(slot));
  for (const slot of stored.filter(isNoLongerClosed)) {
    result.set(slot.id, { ...slot, status: 'entered-in-error', role: 'ended' });
  }
  for (const block of wanted.filter(isNear)) {
    const found = stored.filter((slot) => keyOf(slot) === block.key);
    const [lifted] = found;
    if (lifted && found.every(({ status }) => status === 'entered-in-error')) {
      const resource = { ...lifted.resource, ...block.resource, meta: lifted.resource.meta };
      result.set(lifted.id, { ...lifted, resource, status: 'busy-unavailable', role: 'external' });
    } else if (!lifted) {
      add(result, newCalendarSlot(block.key, block.resource, config));
    }
  }
  return result;
}

/** The elements of a published Slot that the service determines. */
const publishedElements = ['schedule', 'serviceCategory', 'serviceType', 'specialty'] as const;

/**
 * Gives a stored Slot the published elements, and its whole time. It stays free only if it already has that time;
 * otherwise it is `entered-in-error`, and `settle` frees what is not busy.
 */
function restored(slot: CalendarSlot, { resource, start, end }: WantedSlot, config: PublicConfig): CalendarSlot {
  const services = resource.serviceType;
  const payers = (one: Slot): string => canonicalJson(payerKindsOf(one, config));
  const isSame =
    payers(slot.resource) === payers(resource) &&
    publishedElements.every(
      (name) => name === 'serviceType' || canonicalJson(slot.resource[name]) === canonicalJson(resource[name]),
    );
  const isSameOffer = canonicalJson(slot.services) === canonicalJson(services);
  const rest: Partial<Slot> = { ...slot.resource };
  for (const name of publishedElements) {
    delete rest[name];
  }
  const others = (rest.extension ?? []).filter(({ url }) => url !== artefactUri(config, 'LocalPayerKind'));
  const extension = [...others, ...(resource.extension ?? [])];
  delete rest.extension;
  const { meta, identifier } = slot.resource;
  const written: Slot = { ...rest, ...resource, meta, identifier, ...(extension.length > 0 && { extension }) };
  const isAsWanted = isSame && isSameOffer;
  const time = { start, end };
  const isFree = slot.status === 'free' && slot.start === start && slot.end === end;
  return {
    ...slot,
    ...time,
    ...(!isAsWanted && { resource: written, services }),
    role: 'bookable',
    status: isFree ? 'free' : 'entered-in-error',
    whole: time,
  };
}

/**
 * Makes the published slots match the opening hours, without regard to busy time: one Slot for each key, others
 * end. Slots that are booked, held, blocked or in the past stay as they are.
 */
function withPublished(
  calendar: Calendar,
  wanted: readonly WantedSlot[],
  window: Interval,
  now: number,
  config: PublicConfig,
  isGone: boolean,
) {
  const result = new Map(calendar);
  const byKey = new Map(wanted.map((slot) => [slot.key, slot]));
  const published = [...calendar.values()].filter(
    (slot) =>
      slot.id === slot.origin &&
      (isGone ? slot.role === 'bookable' : publishedKeyOf(slot.resource, config)?.kind === 'bookable'),
  );
  const parts = Map.groupBy(calendar.values(), ({ origin }) => origin);
  const isHeld = ({ origin }: CalendarSlot): boolean =>
    (parts.get(origin) ?? []).some((slot) => slot.role === 'bookable' && occupies(slot));
  const rank = ({ status, role }: CalendarSlot): number => (status === 'free' ? 0 : role === 'bookable' ? 1 : 2);
  const stored = Map.groupBy(published, ({ resource }) => publishedValueOf(resource, config) ?? '');
  for (const [key, slots] of stored) {
    const target = byKey.get(key);
    byKey.delete(key);
    const open = slots.filter((slot) => !isHeld(slot));
    const isKeyHeld = open.length < slots.length;
    const [kept] = isKeyHeld || !target ? [] : open.toSorted((one, other) => rank(one) - rank(other));
    if (kept && target) {
      result.set(kept.id, restored(kept, target, config));
    }
    const isOutside = ({ start }: CalendarSlot): boolean => start < window.start || start >= window.end || start < now;
    for (const { origin } of slots.filter((slot) => slot !== kept && !isOutside(slot) && (!target || !isHeld(slot)))) {
      for (const part of (parts.get(origin) ?? []).filter((one) => one.role === 'bookable' && !occupies(one))) {
        result.set(part.id, { ...part, status: 'entered-in-error', role: 'ended' });
      }
    }
  }
  for (const target of byKey.values()) {
    const slot = newCalendarSlot(target.key, target.resource, config);
    add(result, slot && { ...slot, status: 'entered-in-error', role: 'bookable' });
  }
  return result;
}

/** Assigns lanes to manually created bookable slots: different ones if they overlap. Lanes matter only for buffers. */
function withLanesByHand(calendar: Calendar, termsOf: TermsOf): Calendar {
  const own = [...calendar.values()].filter(
    (slot) => slot.role === 'bookable' && (slot.lane === undefined || slot.lane.startsWith(BY_HAND)),
  );
  const offers = [...Map.groupBy(own, ({ origin }) => origin).values()];
  const hasBuffers = own.some((slot) => termsOf(slot).before + termsOf(slot).after > 0);
  const isParallel = offers.some(([one], index) =>
    offers.some(([other], next) => next > index && one && other && overlaps(one.whole, other.whole)),
  );
  if (!hasBuffers || !isParallel) {
    return calendar;
  }
  const result = new Map(calendar);
  const placed = own.filter(({ lane }) => lane !== undefined);
  const unplaced = offers
    .filter((parts) => parts.every(({ lane }) => lane === undefined))
    .toSorted(
      ([one], [other]) =>
        (one?.whole.start ?? 0) - (other?.whole.start ?? 0) || ((one?.id ?? '') < (other?.id ?? '') ? -1 : 1),
    );
  for (const parts of unplaced) {
    const isFree = (lane: string): boolean =>
      placed.every((slot) => slot.lane !== lane || parts.every(({ whole }) => !overlaps(whole, slot.whole)));
    let lane = 1;
    while (!isFree(`${BY_HAND}${lane}`)) {
      lane += 1;
    }
    for (const part of parts) {
      const slot = { ...part, lane: `${BY_HAND}${lane}` };
      placed.push(slot);
      result.set(slot.id, slot);
    }
  }
  return result;
}

/**
 * Decides which Slots of a Schedule to publish, withdraw and narrow. A second call with the result has no changes.
 *
 * - The opening hours result in free Slots, one for each appointment and lane.
 * - Every bookable slot, published or manually created, is adapted to busy time (`settle`).
 * - Booked, held or blocked Slots are never changed.
 * - With invalid opening hours, published Slots stay, except where their time is busy.
 * - A Schedule that no longer exists has no bookable slots.
 */
export function planSlots(state: PublishState, config: PublicConfig): PublishPlan {
  const { schedule, services, publishing, slots, held, now, window } = state;
  const uses: SlotUses = new Map([...held].map((id) => [id, 'held'] as const));
  const before = calendarOf(slots, config, uses);
  const { value: wanted, problems } = wantedOf(state, config);
  const isKept = publishing.kind === 'kept' || !wanted;
  const isGone = publishing.kind === 'off' && publishing.reason === 'gone';
  const offers = isKept
    ? []
    : wanted.calendars.flatMap(({ calendar, period }) =>
        wantedSlots(schedule, calendar, period, ahead(window, now), config),
      );
  const target = isKept
    ? before
    : withPublished(withBlocks(before, wanted.blocks, window, now, config), offers, window, now, config, isGone);
  const termsOf = termsFor([{ schedule, services }], config);
  const placed = withLanesByHand(target, termsOf);
  const isOpen = ({ whole }: CalendarSlot): boolean => whole.end > now;
  const renewed = ahead(window, now);
  const newId = newIds();
  const settled = renewed.start < renewed.end ? settle(placed, placed, { termsOf, newId, renewed, isOpen }) : placed;
  return {
    changes: slotChanges(before, settled, config),
    problems: publishing.kind === 'kept' ? publishing.problems : problems,
  };
}

/** Temporary ids of new parts; the server assigns the stored ones. */
function newIds(): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `part-${count}`;
  };
}
