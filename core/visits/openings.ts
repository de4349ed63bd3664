import type { BundleEntry, CodeableConcept, Coding, HealthcareService, Schedule } from '@medplum/fhirtypes';
import type { Role } from '../booking/policy/caller-rights.ts';
import { effectivePolicy, permittedIn, type StartBounds } from '../booking/policy/policy.ts';
import { lengthsOf } from '../calendar/parameters/scheduling-parameters.ts';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant } from '../fhir/instant.ts';
import { serviceIdOf, serviceIdsOf } from '../fhir/reference.ts';
import { publishedKeyOf } from '../fhir/scheduling/slot-marks.ts';
import { type SearchQuery, search, searchByIds, tokensOf } from '../rows/search.ts';
import { findChain } from '../slots/chain.ts';
import { isReserved, type Reservation, reservedSlots } from '../slots/reservation.ts';
import type { CalendarSlot } from '../slots/slot.ts';
import {
  type Buffers,
  granularityOf,
  isOnStep,
  neededBuffers,
  servesPayerKind,
  splits,
  withBuffers,
  withServices,
} from '../slots/terms.ts';
import type { Interval } from '../time/interval.ts';
import { DAY, localTimeOf } from '../time/time-zone.ts';
import { type CandidateSchedule, type CandidateTime, type Computation, firstFrom, type OpenStep } from './search.ts';
import { isInPool, type Pool, type VisitStep } from './visit.ts';

const MAX_SCHEDULES = '1000';

/** The page size of a search for Slots: Medplum's maximum. */
export const PAGE = 1_000;

/** The size of the first page, which is often enough. */
export const FIRST_PAGE = 400;

const unique = (ids: readonly string[]): string[] => [...new Set(ids)];

const servicesIn = (pools: readonly Pool[]): string[] =>
  unique(pools.flatMap((pool) => (pool.kind === 'service' ? [pool.service] : [])));

const schedules = (query: SearchQuery): BundleEntry =>
  search('Schedule', [['active:not', 'false'], ['_sort', '_id'], ['_count', MAX_SCHEDULES], ...query]);

/**
 * The searches for the resources of pools: services, and Schedules by their ids or by the services that are their
 * actors.
 */
export function poolReads(pools: readonly Pool[]): BundleEntry[] {
  const services = servicesIn(pools);
  const named = unique(pools.flatMap((pool) => (pool.kind === 'schedules' ? pool.schedules : [])));
  const actors = services.map((id) => `HealthcareService/${id}`).join(',');
  return [
    ...searchByIds('HealthcareService', services),
    ...searchByIds('Schedule', named),
    ...(services.length > 0 ? [schedules([['actor', actors]])] : []),
  ];
}

/**
 * The searches for Schedules of services: by the service types; if a service has no type, all Schedules.
 * @param services - of pools
 */
export function scheduleReadsFor(services: readonly HealthcareService[]): BundleEntry[] {
  const tokens = services.map(({ type = [] }) => tokensOf(type));
  const isCoded = tokens.every((some) => some.length > 0);
  return services.length === 0 ? [] : [schedules(isCoded ? [['service-type', unique(tokens.flat()).join(',')]] : [])];
}

export function namedServiceReads(found: readonly Schedule[], known: ReadonlySet<string>): BundleEntry[] {
  return searchByIds(
    'HealthcareService',
    unique(found.flatMap(serviceIdsOf)).filter((id) => !known.has(id)),
  );
}

/**
 * The search for a page of the free Slots of some Schedules, by start.
 * @param time - the Slots overlap it
 * @param from - earliest start of the Slots; absent for the first page
 */
export function slotPage(ids: readonly string[], time: Interval, from?: number, count = PAGE): BundleEntry {
  return search('Slot', [
    ['schedule', ids.map((id) => `Schedule/${id}`).join(',')],
    ['status', 'free'],
    from === undefined ? ['end', `gt${formatInstant(time.start)}`] : ['start', `ge${formatInstant(from)}`],
    ['start', `lt${formatInstant(time.end)}`],
    ['_sort', 'start,_id'],
    ['_count', String(count)],
  ]);
}

/** A Schedule with the rules of its bookable times. */
export interface Bookable {
  readonly schedule: Schedule & { readonly id: string };
  readonly services: readonly HealthcareService[];
  readonly bounds: StartBounds;
  /** The maximum length of an appointment in one Slot, and the minimum length in a part of one; milliseconds. */
  readonly longest: number;
  readonly shortest: number;
  /** The steps in which a Slot made by hand can be divided, in milliseconds. */
  readonly step: number;
  readonly reservations?: readonly Reservation[];
}

export interface Frame {
  readonly period: Interval;
  /** The hours of the day within which each appointment must be: since midnight, in milliseconds. */
  readonly hours: Interval;
  /** Wanted actors of Schedules, `Type/id`. If one of them can fill a role, no others do. */
  readonly actors: readonly string[];
  /** Slots that do not serve this payer kind are left out. */
  readonly payerKind?: Coding | undefined;
  readonly role: Role;
  readonly now: number;
  readonly config: PublicConfig;
}

/**
 * The Schedules in which this caller can book now, by their ids: they are active, and their policy is valid.
 * @param services - the visible services of these Schedules
 */
export function bookableSchedules(
  schedules: readonly Schedule[],
  services: readonly HealthcareService[],
  { role, now, config }: Frame,
): Map<string, Bookable> {
  return new Map(
    schedules.flatMap((schedule): [string, Bookable][] => {
      const bounds = permittedIn(schedule, services, role, now, config);
      const { id } = schedule;
      if (!bounds || id === undefined) {
        return [];
      }
      const { services: own } = withServices(schedule, services);
      const { shortest, step, longest = Number.POSITIVE_INFINITY } = granularityOf(schedule, own, config);
      const { policy } = effectivePolicy(schedule, own, config);
      const most = role === 'staff' ? Number.POSITIVE_INFINITY : Math.max(longest, policy.longest ?? 0);
      return [[id, { schedule: { ...schedule, id }, services: own, bounds, longest: most, shortest, step }]];
    }),
  );
}

/**
 * The Schedules of a pool in the order of preference. If a wanted actor has one, only Schedules of wanted actors count.
 */
export function poolOf(pool: Pool, bookable: ReadonlyMap<string, Bookable>, { actors }: Frame): Bookable[] {
  const all =
    pool.kind === 'schedules'
      ? pool.schedules.flatMap((id) => bookable.get(id) ?? [])
      : [...bookable.values()]
          .filter(({ schedule }) => isInPool(pool, schedule))
          .toSorted((one, other) => (one.schedule.id < other.schedule.id ? -1 : 1));
  const wished = all.filter(({ schedule }) => schedule.actor.some(({ reference = '' }) => actors.includes(reference)));
  return wished.length > 0 ? wished : all;
}

/** The length of a step in a Schedule, in milliseconds; `undefined` if it is the length of each Slot. */
function durationIn({ schedule, services }: Bookable, step: VisitStep): number | undefined {
  const [pool] = step.pools;
  const service = pool?.kind === 'service' ? services.find(({ id }) => id === pool.service) : undefined;
  const minutes = service && lengthsOf(schedule, service).duration;
  const known = granularityOf(schedule, services, { smallestBooking: 1 }).longest;
  return step.duration ?? (minutes === undefined ? known : minutes * 60_000);
}

/** Whether a Slot is bookable for the service of a pool. */
function isInServiceOf({ resource, services }: CalendarSlot, pool: Pool, config: PublicConfig): boolean {
  const key = publishedKeyOf(resource, config);
  return (
    pool.kind === 'schedules' ||
    (key?.kind === 'bookable'
      ? key.service === pool.service
      : !services || services.some((concept) => [undefined, pool.service].includes(serviceIdOf(concept))))
  );
}

/** Whether a Slot serves the payer kind, with the same rule as `$book`. Staff are exempt. */
function isServed(slot: CalendarSlot, { schedule, services }: Bookable, pool: Pool, frame: Frame): boolean {
  const { payerKind, role, config } = frame;
  const types = serviceTypesIn([[...(slot.services ?? []), ...(schedule.serviceType ?? [])]], [pool]);
  return !payerKind || role === 'staff' || servesPayerKind(payerKind, slot, types, services, config);
}

/** The free Slots of one Schedule for a role, with the buffers of an appointment in them. */
interface Free {
  readonly bookable: Bookable;
  readonly rank: number;
  readonly slots: readonly CalendarSlot[];
  /** The length of the longest one, in milliseconds. */
  readonly reach: number;
  readonly buffersOf: (slot: CalendarSlot) => Buffers;
  readonly reserved: readonly CalendarSlot[];
}

/**
 * Computes the buffers around an appointment in a Slot, once per service: the one for which a Slot was published, or those
 * that a Slot made by hand names.
 */
function memoizedBuffers({ schedule, services }: Bookable, config: PublicConfig) {
  const known = new Map<string, Buffers>();
  return (slot: CalendarSlot): Buffers => {
    const published = publishedKeyOf(slot.resource, config);
    const key = published?.kind === 'bookable' ? published.service : JSON.stringify(slot.services);
    const buffers = known.get(key) ?? neededBuffers({ schedule, services }, slot, slot.services ?? [], config);
    known.set(key, buffers);
    return buffers;
  };
}

/** The possible starts in a Slot. A published one is taken from its start, another one in steps. */
function* startsIn(slot: CalendarSlot, { step }: Bookable, config: PublicConfig): Generator<number> {
  const isPublished = publishedKeyOf(slot.resource, config) !== undefined;
  for (let start = slot.start; start < slot.end; start += isPublished ? slot.end - slot.start : step) {
    yield start;
  }
}

/** Whether `$book` would accept a time in these Slots, by the lengths of the Schedule. */
function isDivisible(slots: readonly CalendarSlot[], { start, end }: Interval, { step, shortest, longest }: Bookable) {
  const length = end - start;
  return (
    (slots.length > 1 || length <= longest) &&
    slots.every(
      (slot) =>
        (length >= shortest || !splits({ start, end }, slot)) &&
        [start, end].every((moment) => isOnStep(moment, slot, step)),
    )
  );
}

/** The Slots that overlap a time. They must be ordered by start, and none may be longer than `reach`. */
function overlapping<T extends Interval>({ start, end }: Interval, slots: readonly T[], reach: number): T[] {
  const found: T[] = [];
  for (let at = firstFrom(slots, start - reach + 1); at < slots.length; at++) {
    const slot = slots[at];
    if (!slot || slot.start >= end) {
      break;
    }
    if (slot.end > start) {
      found.push(slot);
    }
  }
  return found;
}

/** The Slots that cover a time: one, or several that follow one another. */
function slotsFor(
  interval: Interval,
  { bookable, slots, reach }: Free,
  first?: CalendarSlot,
): readonly CalendarSlot[] | undefined {
  const single = first && first.end >= interval.end ? [first] : undefined;
  const around = single ? [] : overlapping(interval, slots, reach);
  const chain = single ?? (around.length > 0 ? findChain(around, interval) : undefined);
  return chain && isDivisible(chain, interval, bookable) ? chain : undefined;
}

/** Whether a time lies within the requested hours of one local day. */
function isWithinHours({ start, end }: Interval, { hours, config: { timeZone } }: Frame): boolean {
  if (hours.start <= 0 && hours.end >= DAY) {
    return true;
  }
  const local = localTimeOf(timeZone, start);
  const midnight = Math.floor(local / DAY) * DAY;
  return local >= midnight + hours.start && local + (end - start) <= midnight + hours.end;
}

/**
 * The Schedule as a candidate for a time in `slots`, unless the time is outside its booking bounds, or reserved. Lengths
 * and steps were checked by `slotsFor`.
 */
function candidateIfBookable(interval: Interval, free: Free, { now }: Frame, slots: readonly CalendarSlot[]) {
  const { bookable, rank, buffersOf, reserved } = free;
  const { bounds, schedule } = bookable;
  const [slot] = slots;
  const isPermitted = interval.start > now && interval.start >= bounds.earliest && interval.start <= bounds.latest;
  if (!slot || !isPermitted) {
    return undefined;
  }
  const buffers = buffersOf(slot);
  const around = withBuffers(interval, buffers);
  return slots.some((one) => isReserved(one, around, reserved))
    ? undefined
    : { schedule: schedule.id, rank, lane: slot.lane, slots: slots.map(({ id }) => id), buffers };
}

function fillersAt(interval: Interval, all: readonly Free[], frame: Frame): CandidateSchedule[] {
  return all.flatMap((free) => {
    const slots = slotsFor(interval, free);
    return (slots && candidateIfBookable(interval, free, frame, slots)) ?? [];
  });
}

interface KnownSlots {
  /** By the id of the Schedule, by start. */
  readonly slots: ReadonlyMap<string, readonly CalendarSlot[]>;
  /** All Slots that start before this moment are known; infinite if all Slots of the period are. */
  readonly until: number;
}

/**
 * The candidate times of a step in the known Slots: all times that `$book` would accept from this caller now.
 * @param bookable - the visible Schedules in which the caller can book
 * @param isDue - whether it should yield
 */
export function* openStep(
  step: VisitStep,
  bookable: ReadonlyMap<string, Bookable>,
  { slots, until }: KnownSlots,
  frame: Frame,
  isDue: () => boolean,
): Computation<OpenStep> {
  const { period, config } = frame;
  const roles: Free[][] = [];
  for (const pool of step.pools) {
    const role: Free[] = [];
    for (const [rank, one] of poolOf(pool, bookable, frame).entries()) {
      if (isDue()) {
        yield;
      }
      const own = slots.get(one.schedule.id) ?? [];
      const fitting = own.filter((slot) => isInServiceOf(slot, pool, config) && isServed(slot, one, pool, frame));
      const reach = fitting.reduce((most, { start, end }) => Math.max(most, end - start), 0);
      const calendar = new Map(own.map((slot) => [slot.id, slot]));
      const reserved = reservedSlots(one.schedule.id, one.reservations ?? [], { calendar, now: frame.now });
      role.push({ bookable: one, rank, slots: fitting, reach, buffersOf: memoizedBuffers(one, config), reserved });
    }
    roles.push(role);
  }
  const [first = [], ...others] = roles;
  const found = new Map<string, Interval & { readonly candidates: CandidateSchedule[] }>();
  for (const free of first) {
    const duration = durationIn(free.bookable, step);
    for (const slot of free.slots) {
      if (isDue()) {
        yield;
      }
      // A step without a length takes the whole Slot, because nobody could book the rest.
      for (const start of duration === undefined ? [slot.start] : startsIn(slot, free.bookable, config)) {
        const interval = { start, end: duration === undefined ? slot.end : start + duration };
        const isInside = start >= period.start && interval.end <= period.end;
        const taken = isInside ? slotsFor(interval, free, slot) : undefined;
        const candidate = taken && candidateIfBookable(interval, free, frame, taken);
        const key = `${start} ${interval.end}`;
        const opening = found.get(key) ?? { ...interval, candidates: [] };
        if (candidate) {
          opening.candidates.push(candidate);
          found.set(key, opening);
        }
      }
    }
  }
  const openings: CandidateTime[] = [];
  for (const opening of found.values()) {
    if (isDue()) {
      yield;
    }
    const { start, end, candidates } = opening;
    const more = isWithinHours(opening, frame) ? others.map((role) => fillersAt({ start, end }, role, frame)) : [[]];
    if (more.every((candidateSchedules) => candidateSchedules.length > 0)) {
      openings.push({
        start,
        end,
        roles: [candidates.toSorted((candidateSchedule, other) => candidateSchedule.rank - other.rank), ...more],
      });
    }
  }
  openings.sort((candidateTime, other) => candidateTime.start - other.start || candidateTime.end - other.end);
  const durations = first.map(({ bookable: one }) => durationIn(one, step) ?? DAY);
  const longest = Math.max(step.duration ?? 0, ...durations);
  const shortest = Math.min(step.duration ?? DAY, ...durations.map((one) => (one === DAY ? 60_000 : one)));
  // A time that takes several Slots is known once the last of these is.
  const knownUntil =
    until === Number.POSITIVE_INFINITY || first.length === 0 ? Number.POSITIVE_INFINITY : until - longest;
  return { ...step, openings, knownUntil, shortest, longest };
}

/**
 * The service types of an appointment: from each calendar the first coded one that fits the role.
 * @param named - for each calendar the types of its Slot, followed by those of its Schedule
 */
export function serviceTypesIn(
  named: readonly (readonly CodeableConcept[])[],
  pools: readonly Pool[],
): CodeableConcept[] {
  const services = new Set(pools.flatMap((pool) => (pool.kind === 'service' ? [pool.service] : [])));
  const types = named.flatMap((concepts) => {
    const coded = concepts.filter(({ coding = [] }) => coding.length > 0);
    const own = coded.find((concept) => services.has(serviceIdOf(concept) ?? ''));
    return own ?? coded[0] ?? [];
  });
  return [...new Map(types.map((type) => [JSON.stringify(type.coding), type])).values()];
}
