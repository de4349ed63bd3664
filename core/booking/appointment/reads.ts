import type { Appointment, BundleEntry, Slot, Task } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { isBuffer } from '../../fhir/scheduling/slot-marks.ts';
import { ownerOf } from '../../fhir/tags.ts';
import { type ResourceSet, resourcesOfType } from '../../rows/resource-set.ts';
import { type SearchQuery, search, searchUrl } from '../../rows/search.ts';
import {
  type Calendar,
  type CalendarSlot,
  isBooked,
  type SlotUse,
  type SlotUses,
  slotIdsOf,
  slotStatusOf,
  strongestUse,
} from '../../slots/slot.ts';
import { type Interval, union } from '../../time/interval.ts';
import { holdsSlots, isOpen, slotUseOf, statusQuery } from './status.ts';

/** The page size of a search: Medplum's maximum. */
const COUNT = '1000';

export interface ScheduleTime extends Interval {
  readonly schedule: string;
}

/**
 * Whether a search must find all Slots at some time, because a missed one would be booked twice. A sorted search wants
 * only the first Slots.
 */
export function mustBeWhole({ request }: BundleEntry): boolean {
  const [type, query] = (request?.url ?? '').split('?');
  const parameters = new URLSearchParams(query);
  return type === 'Slot' && parameters.has('end') && !parameters.has('_sort');
}

/** The conditions for Slots that overlap a time. */
export const atTime = ({ start, end }: Interval): SearchQuery => [
  ['start', `lt${formatInstant(end)}`],
  ['end', `gt${formatInstant(start)}`],
];

/**
 * The conditions for Slots that may prevent a booking without buffers: all taken ones, and all published ones,
 * withdrawn ones included. Other free Slots do not matter, however many lanes a calendar has.
 * @param ids - ids of further Slots to find in any case, separated by commas
 */
export function inTheWay(config: PublicConfig, ids?: string): SearchQuery {
  const taken = 'status ne "free" and status ne "entered-in-error"';
  const kinds = [`(${taken})`, `identifier eq "${artefactUri(config, 'LocalPublishedSlot')}|"`];
  return [['_filter', [...kinds, ...(ids ? [`_id eq "${ids}"`] : [])].join(' or ')]];
}

export function merged(times: readonly ScheduleTime[]): ScheduleTime[] {
  return [...Map.groupBy(times, ({ schedule }) => schedule)].flatMap(([schedule, own]) =>
    union(own).map((time): ScheduleTime => ({ schedule, ...time })),
  );
}

/** The searches for all Slots at these times, whatever their status. */
export function slotsAtReads(times: readonly ScheduleTime[]): BundleEntry[] {
  return times.map(({ schedule, ...time }) =>
    search('Slot', [['schedule', `Schedule/${schedule}`], ...atTime(time), ['_count', COUNT]]),
  );
}

/** The search for the appointments that hold any of these Slots. */
export const holderSearch = (slots: readonly string[]): string =>
  searchUrl('Appointment', [
    ['slot', slots.map((id) => `Slot/${id}`).join(',')],
    ['status', statusQuery(holdsSlots)],
    ['_count', COUNT],
  ]);

/** The appointments that hold Slots, by the id of the Slot. */
export function holdersOf(appointments: readonly Appointment[]): ReadonlyMap<string, readonly Appointment[]> {
  const holders = new Map<string, Appointment[]>();
  for (const appointment of appointments.filter(holdsSlots)) {
    for (const id of slotIdsOf(appointment)) {
      holders.set(id, [...(holders.get(id) ?? []), appointment]);
    }
  }
  return holders;
}

/** The strongest use of each Slot by appointments, by the id of the Slot. */
export function usesOf(appointments: readonly Appointment[]): Map<string, SlotUse> {
  const uses = new Map<string, SlotUse>();
  for (const appointment of appointments) {
    const use = slotUseOf(appointment);
    for (const id of slotIdsOf(appointment)) {
      uses.set(id, strongestUse(use, uses.get(id)) ?? use);
    }
  }
  return uses;
}

/**
 * The Slots of an appointment whose status does not match its own. Buffers are ignored: Medplum's `$book` adds them to
 * the appointment's slots.
 */
export function unfittingSlots(appointment: Appointment, slots: readonly Slot[]): Slot[] {
  const needed = slotStatusOf(slotUseOf(appointment));
  return holdsSlots(appointment)
    ? slots.filter((slot) => needed !== undefined && slot.status !== needed && !isBuffer(slot))
    : slots.filter(isBooked);
}

/**
 * Whether the clinic has booked a bookable slot for itself although a requestor's appointment has it: by hand at the
 * same moment, or the slot is `busy` and the appointment is not confirmed.
 */
export function isTakenByClinic(
  { role, status, isByHand }: CalendarSlot,
  holder: Appointment,
  config: PublicConfig,
): boolean {
  const isUnconfirmed = status === 'busy' && isOpen(holder) && slotStatusOf(slotUseOf(holder)) !== 'busy';
  return role === 'bookable' && (isByHand || isUnconfirmed) && ownerOf(holder, config) !== undefined;
}

/** Ids of the slots that an appointment gives back when it ends or moves: all but those that the clinic has booked. */
export function slotsToGiveBack(holder: Appointment, calendar: Calendar, config: PublicConfig): string[] {
  return slotIdsOf(holder).filter((id) => {
    const slot = calendar.get(id);
    return !slot || !isTakenByClinic(slot, holder, config);
  });
}

/** Slots that were split, with everything split off from them, and their uses by appointments. */
export interface Fragments {
  readonly slots: readonly Slot[];
  readonly uses: SlotUses;
  /** Expired holds and requests that prevent a booking; they do not count as uses. */
  readonly expired?: readonly Appointment[];
  /** The slots whose fragments were read; absent if all were read. */
  readonly origins?: readonly string[];
  /** The rows with the reservations of their Schedules, read after the slots. */
  readonly rows?: readonly Task[];
}

/** Two searches, so that many cancelled appointments cannot push an open one off the page. */
const statusQueries = [statusQuery(holdsSlots), statusQuery((appointment) => !holdsSlots(appointment))];

/**
 * The reads for giving slots back, or for finding the free parts of split slots: all fragments, and the appointments on
 * them. They need the Bot's own credentials, because appointments of others count, too. None of the results reaches the
 * caller.
 * @param origins - ids of the slots from which the fragments were split off
 * @param originSystem - identifier system under which a slot names its origin
 */
export function fragmentReads(origins: readonly string[], originSystem: string): BundleEntry[] {
  const identifiers = origins.map((id) => `${originSystem}|${id}`).join(',');
  const references = origins.map((id) => `Slot/${id}`).join(',');
  // Medplum carries them out in this order: a Slot that is given back in between is seen as free, not as busy without
  // holder.
  return [
    ...statusQueries.flatMap((status) => [
      search('Appointment', [
        ['slot', references],
        ['status', status],
        ['_count', COUNT],
      ]),
      search('Appointment', [
        ['slot:Slot.identifier', identifiers],
        ['status', status],
        ['_count', COUNT],
      ]),
    ]),
    search('Slot', [
      ['_id', origins.join(',')],
      ['_count', COUNT],
    ]),
    search('Slot', [
      ['identifier', identifiers],
      ['_count', COUNT],
    ]),
  ];
}

/**
 * Reads the responses to `fragmentReads`.
 * @param rewritten - ids of appointments that are being rewritten, whose current references do not count
 * @param isOver - whether an appointment no longer has a right to its slots
 */
export function fragmentsIn(
  found: ResourceSet,
  rewritten: readonly (string | undefined)[],
  isOver: (appointment: Appointment) => boolean = () => false,
): Fragments {
  const others = resourcesOfType(found, 'Appointment').filter(({ id }) => !rewritten.includes(id));
  const uses = usesOf(others.filter((appointment) => !isOver(appointment)));
  return { slots: resourcesOfType(found, 'Slot'), uses, expired: others.filter(isOver) };
}
