import type { BundleEntry, CodeableConcept, Slot } from '@medplum/fhirtypes';
import { slotChangeEntries } from '../../calendar/publish/slot-change.ts';
import { conflicts, withdrawnWith } from '../../calendar/slots/conflicts.ts';
import {
  isBufferOf,
  isUnmarked,
  type PlacedSlot,
  placedSlots,
  servicesOffered,
} from '../../calendar/slots/slot-role.ts';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { idIn } from '../../fhir/reference/reference.ts';
import { type Interval, overlaps } from '../../time/interval.ts';
import { slotIdsOf } from '../appointment/slot-use.ts';
import { type ResourceSet, resourcesOfType, scheduleOf } from '../resource-set.ts';
import { type SearchQuery, search } from '../search.ts';
import type { CalendarSlot } from './calendar.ts';

type TakingsConfig = ArtefactConfig;

/** How many Slots that take the time of an appointment one search finds: as many as Medplum can. */
const COUNT = '1000';

/**
 * Whether a search must find all Slots that are in the way at some time (`takenTimeReads`, `aroundReads`, `bookingReads`):
 * the time of one that it missed would be sold twice. A sorted search is for the first ones only.
 */
export function mustBeWhole({ request }: BundleEntry): boolean {
  const [type, query] = (request?.url ?? '').split('?');
  const parameters = new URLSearchParams(query);
  return type === 'Slot' && parameters.has('end') && !parameters.has('_sort');
}

/**
 * The searches for everything that is taken at a given time.
 *
 * @param slots - ids of Slots whose Schedules are concerned
 * @param schedule - id of another Schedule that is concerned
 */
export function takenTimeReads(
  interval: Interval | undefined,
  slots: readonly string[],
  schedule?: string,
): BundleEntry[] {
  if (!interval) {
    return [];
  }
  const query: SearchQuery = [
    ['status', 'busy,busy-tentative,busy-unavailable'],
    ['start', `lt${formatInstant(interval.end)}`],
    ['end', `gt${formatInstant(interval.start)}`],
    ['_count', COUNT],
  ];
  const ids = slots.join(',');
  return [
    ...(schedule ? [search('Slot', [['schedule', `Schedule/${schedule}`], ...query])] : []),
    ...(ids ? [search('Slot', [['schedule:Schedule._has:Slot:schedule:_id', ids], ...query])] : []),
  ];
}

/**
 * The conditions for Slots at a time that may be in the way of a booking: everything that is taken, and the published Slots
 * that it excludes. Other free Slots do not matter, however many places a calendar has.
 *
 * @param ids - ids of further Slots that are wanted in any case, separated by commas
 */
export function inTheWay(config: TakingsConfig, ids?: string): SearchQuery {
  const kinds = ['status ne "free"', `identifier eq "${artefactUri(config, 'LocalPublishedSlot')}|"`];
  return [
    ['status', 'free,busy,busy-tentative,busy-unavailable'],
    ['_filter', [...kinds, ...(ids ? [`_id eq "${ids}"`] : [])].join(' or ')],
  ];
}

/** The searches for whatever may be in the way of a booking at a time in these Schedules, whoever created it. */
export function aroundReads(
  schedules: readonly string[],
  { start, end }: Interval,
  config: TakingsConfig,
): BundleEntry[] {
  return schedules.map((id) =>
    search('Slot', [
      ['schedule', `Schedule/${id}`],
      ...inTheWay(config),
      ['start', `lt${formatInstant(end)}`],
      ['end', `gt${formatInstant(start)}`],
      ['_count', COUNT],
    ]),
  );
}

/** Time of Schedules that is to be taken. */
export interface TimeWanted {
  readonly interval: Interval;
  /** The Slots that it is to be taken from. */
  readonly slots: readonly CalendarSlot[];
  /** The service types that it is wanted for; by default those of the Slots. */
  readonly services: readonly CodeableConcept[] | undefined;
  /** Ids of Slots that are released in the same transaction and therefore take no time, nor do their buffers. */
  readonly givenBack: readonly string[];
  /** The time with its buffers, by the id of the Schedule; a Schedule without an entry needs no buffers. */
  readonly around?: ReadonlyMap<string, Interval>;
}

/** The most Slots whose histories are read for one decision; the others count as never offered. */
const MOST_HISTORIES = 200;

/**
 * The ids of the taken Slots whose history must be read to know whether they were ever offered; if there are too many, first
 * those that appointments refer to, then the earliest.
 *
 * @param interval - what lies elsewhere matters only if one of the appointments refers to it
 */
export function unmarkedIn(state: ResourceSet, interval: Interval, config: TakingsConfig): string[] {
  const referredTo = new Set(resourcesOfType(state, 'Appointment').flatMap(slotIdsOf));
  const rank = ({ id }: PlacedSlot): number => (referredTo.has(id) ? 0 : 1);
  return placedSlots(resourcesOfType(state, 'Slot'), new Set(), config)
    .filter((slot) => overlaps(slot, interval) || referredTo.has(slot.id))
    .filter(({ resource }) => isUnmarked(resource, config))
    .toSorted((one, other) => rank(one) - rank(other) || one.start - other.start)
    .slice(0, MOST_HISTORIES)
    .map(({ id }) => id);
}

function offeredBy(slot: Slot, state: ResourceSet): readonly CodeableConcept[] {
  const schedule = scheduleOf(state, slot);
  return (schedule ? servicesOffered(slot, schedule) : slot.serviceType) ?? [];
}

/**
 * What takes the wanted time of a Schedule although the Slots that it is to be taken from are free: appointments that
 * Medplum's own scheduling has made, blocks and imports, and published Slots of the same place that are taken.
 *
 * @returns at most one for each Schedule, and which of the Slots it concerns
 * @param state - at least all that is taken in the Schedules at that time (`bookingReads`)
 * @param offered - ids, among those of `unmarkedIn`, of Slots that were once free
 */
export function takenTime(
  { interval, slots, services, givenBack, around }: TimeWanted,
  state: ResourceSet,
  offered: ReadonlySet<string>,
  config: TakingsConfig,
): { readonly taken: PlacedSlot; readonly from: CalendarSlot }[] {
  const others = resourcesOfType(state, 'Slot').filter(
    (slot) => !givenBack.includes(slot.id ?? '') && !isBufferOf(slot, givenBack, config),
  );
  const bySchedule = Map.groupBy(slots, ({ resource }) => idIn(resource.schedule, 'Schedule') ?? '');
  return [...bySchedule].flatMap(([scheduleId, wanted]) => {
    const ofSchedule = others.filter(({ schedule }) => idIn(schedule, 'Schedule') === scheduleId);
    const own = wanted.map(({ resource }) => resource);
    const claim = {
      interval,
      around: around?.get(scheduleId),
      slots: wanted.map(({ id }) => id),
      services: services?.length ? services : own.flatMap((slot) => offeredBy(slot, state)),
    };
    const [taken] = conflicts(placedSlots([...ofSchedule, ...own], offered, config), claim);
    const from = (taken && wanted.find((slot) => overlaps(slot, taken))) ?? wanted[0];
    return taken && from ? [{ taken, from }] : [];
  });
}

/**
 * The entries that withdraw the published Slots that a booking excludes: the free ones of its place that it overlaps. In the
 * transaction of the booking they also serve as its lock: of two bookings that exclude each other, each writes the Slots of
 * both.
 *
 * @param state - at least all that is free and published in the Schedules at that time (`bookingReads`)
 */
export function withdrawalEntries(
  { interval, slots, services, around }: Omit<TimeWanted, 'givenBack'>,
  state: ResourceSet,
  config: TakingsConfig,
): BundleEntry[] {
  const placed = placedSlots(resourcesOfType(state, 'Slot'), new Set(), config);
  const schedules = new Set(slots.map(({ resource }) => idIn(resource.schedule, 'Schedule')));
  const near = placed.filter(({ resource }) => schedules.has(idIn(resource.schedule, 'Schedule')));
  const bySchedule = Map.groupBy(near, ({ resource }) => idIn(resource.schedule, 'Schedule'));
  const own = slots.map(({ id }) => id);
  return [...bySchedule].flatMap(([scheduleId = '', ofSchedule]) =>
    slotChangeEntries(withdrawnWith(ofSchedule, { interval, around: around?.get(scheduleId), slots: own, services })),
  );
}
