import type { Schedule, Slot } from '@medplum/fhirtypes';
import type { ArtefactConfig } from '../../config/config.ts';
import { type Interval, intersection, overlaps } from '../../time/interval.ts';
import { DAY } from '../../time/time-zone.ts';
import type { Publishing, ServiceCalendar } from '../parameters/schedule-calendar.ts';
import { type CalendarProblem, sound, together } from '../problem.ts';
import { offerChanges } from '../slots/hand-made.ts';
import type { WantedSlot } from '../slots/published-slot.ts';
import {
  type PlacedSlot,
  placedSlots,
  publishedKeyOf,
  publishedValueOf,
  servicesOffered,
  takesFrom,
} from '../slots/slot-role.ts';
import type { Closure } from '../time/not-available.ts';
import { closedSlots } from './closed-days.ts';
import { publishedPeriod, wantedSlots } from './offers.ts';
import { heldPublished, publishedChanges } from './published-changes.ts';
import { type SlotChange, withdrawal } from './slot-change.ts';

type PublishConfig = ArtefactConfig;

/** Everything that the Slots of one Schedule depend on. */
export interface PublishState {
  readonly schedule: Schedule & { readonly id: string };
  readonly publishing: Publishing;
  /** The period to publish: Slots that begin outside it are not touched. */
  readonly window: Interval;
  /** All its Slots that overlap `slotsToRead` of the window, whatever their status. */
  readonly slots: readonly Slot[];
  /** Ids of unmarked Slots that were once free, as their history shows. */
  readonly offered: ReadonlySet<string>;
  /** Ids of Slots that open appointments refer to: they are not changed, whatever their status. */
  readonly held: ReadonlySet<string>;
  readonly closedDays: readonly Closure[];
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
  readonly horizonWeeks: number;
}

/**
 * How far outside a window Slots still influence it, in milliseconds: the length of an appointment with both its buffers.
 */
const MARGIN = 3 * DAY;

/** The period whose Slots must all be known to decide about a window. */
export function slotsToRead({ start, end }: Interval): Interval {
  return { start: start - MARGIN, end: end + MARGIN };
}

/** The changes that make the Slots of a Schedule match its opening hours and its takings. */
export interface PublishPlan {
  /** Empty when there is nothing left to do. */
  readonly changes: readonly SlotChange[];
  /** Why nothing is published; published Slots stay unless their time is taken. */
  readonly problems: readonly CalendarProblem[];
}

function isClosedDay({ resource }: PlacedSlot, config: PublishConfig): boolean {
  return publishedKeyOf(resource, config)?.kind === 'closed';
}

/** A Slot that is about to be stored, as if it were stored already. */
function asTaking({ key, start, end, resource }: WantedSlot): PlacedSlot {
  return { id: key, origin: key, start, end, resource, role: { kind: 'taking' } };
}

/** The blocks of closed days, one for each day; a block that staff have changed stays as it is. */
function blockChanges(
  stored: readonly PlacedSlot[],
  wanted: readonly WantedSlot[],
  config: PublishConfig,
): SlotChange[] {
  const made = wanted.flatMap((block): SlotChange[] => {
    const found = stored.filter((slot) => publishedValueOf(slot.resource, config) === block.key);
    const withdrawn = found.find(({ resource }) => resource.status === 'entered-in-error')?.resource;
    if (found.some(({ resource }) => resource.status !== 'entered-in-error')) {
      return [];
    }
    const resource: Slot = withdrawn ? { ...withdrawn, ...block.resource, meta: withdrawn.meta } : block.resource;
    return [{ stored: withdrawn, resource, group: block.key }];
  });
  const lifted = stored.filter(
    (slot) =>
      slot.resource.status === 'busy-unavailable' &&
      !wanted.some(({ key }) => key === publishedValueOf(slot.resource, config)),
  );
  return [...made, ...lifted.map(({ id, resource }) => withdrawal(resource, id))];
}

/** The free published Slots that are withdrawn even if the opening hours are invalid, because their time is taken. */
function takenAway(
  published: readonly PlacedSlot[],
  takings: readonly PlacedSlot[],
  { schedule, held }: PublishState,
): SlotChange[] {
  return published
    .filter(({ id, resource }) => resource.status === 'free' && !held.has(id))
    .filter((slot) =>
      takings.some(
        (taking) => overlaps(slot, taking) && takesFrom(taking.resource, servicesOffered(slot.resource, schedule)),
      ),
    )
    .map(({ id, resource }) => withdrawal(resource, id));
}

/** The Slots that the opening hours and the closed days call for. */
interface Wanted {
  readonly calendars: readonly { readonly calendar: ServiceCalendar; readonly period: Interval }[];
  readonly blocks: readonly WantedSlot[];
}

function ahead({ start, end }: Interval, now: number): Interval {
  return { start: Math.max(start, now), end };
}

function wantedOf(
  { schedule, publishing, closedDays, now, window, horizonWeeks }: PublishState,
  config: PublishConfig,
) {
  const calendars = publishing.kind === 'on' ? publishing.calendars : [];
  const periods = together(
    calendars.map((calendar) => {
      const { value, problems } = publishedPeriod(schedule, calendar.parameters.timeZone, now, horizonWeeks);
      const near = value && intersection(value, slotsToRead(window));
      return { value: near ? [{ calendar, period: near }] : [], problems };
    }),
  );
  const [first] = periods.value ?? [];
  const blocks = first
    ? closedSlots(schedule, closedDays, first.calendar.parameters.timeZone, ahead(first.period, now), config)
    : sound([]);
  const problems = [...periods.problems, ...blocks.problems];
  const value: Wanted = { calendars: periods.value ?? [], blocks: blocks.value ?? [] };
  return problems.length > 0 ? { value: undefined, problems } : sound(value);
}

/**
 * Decides what to publish, withdraw and narrow in one Schedule. Once this is done, a second call finds nothing to do.
 *
 * - Free Slots are made from the opening hours, one for each place, each for one appointment.
 * - A taking withdraws the published Slots that it overlaps, and narrows free ones made by hand; they return when the
 *   taking ends.
 * - Booked, held or blocked Slots are never changed.
 * - With invalid opening hours, published Slots stay, except where time is taken.
 */
export function planSlots(state: PublishState, config: PublishConfig): PublishPlan {
  const { schedule, publishing, slots, offered, held, now, window } = state;
  const placed = placedSlots(slots, offered, config);
  const isNear = ({ start }: Interval): boolean => window.start <= start && start < window.end;
  const published = placed.filter(({ role }) => role.kind === 'published');
  const closed = placed.filter((slot) => isClosedDay(slot, config));
  const { value: wanted, problems } = wantedOf(state, config);
  if (publishing.kind === 'kept' || !wanted) {
    const takings = placed.filter(({ role }) => role.kind === 'taking');
    return {
      changes: [
        ...takenAway(published.filter(isNear), takings, state),
        ...offerChanges(placed, takings, { schedule, held, window, known: slotsToRead(window), now }, config),
      ],
      problems: publishing.kind === 'kept' ? publishing.problems : problems,
    };
  }
  const isOpened = ({ key }: WantedSlot): boolean =>
    closed.some(({ resource }) => resource.status === 'free' && publishedValueOf(resource, config) === key);
  const others = placed.filter((slot) => slot.role.kind === 'taking' && !closed.includes(slot));
  const takings = [...others, ...wanted.blocks.filter((block) => !isOpened(block)).map(asTaking)];
  const taken = [...takings, ...heldPublished(published, held)];
  const calendars = wanted.calendars.map(({ calendar }) => calendar);
  const offers = wanted.calendars.flatMap(({ calendar, period }) =>
    wantedSlots(schedule, calendar, period, ahead(window, now), taken, config),
  );
  return {
    changes: [
      ...blockChanges(
        closed.filter((slot) => isNear(slot) && slot.end > now),
        wanted.blocks.filter(isNear),
        config,
      ),
      ...publishedChanges(published, { wanted: offers, calendars, takings, held, now, window }),
      ...offerChanges(placed, takings, { schedule, held, window, known: slotsToRead(window), now }, config),
    ],
    problems: [],
  };
}
