import type { Appointment, CodeableConcept, HealthcareService, Schedule } from '@medplum/fhirtypes';
import type { Located } from '../booking/request/parameters.ts';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant, parseInstant, timeOf } from '../fhir/instant.ts';
import type { Issue } from '../fhir/outcome/outcome.ts';
import { idIn, isSameService, serviceIdOf } from '../fhir/reference.ts';
import { isSameJson } from '../fhir/resource.ts';
import { compareEntries, isStillWaiting, rank, since } from '../fhir/scheduling/waitlist-order.ts';
import { ownerOf, REPLACES } from '../fhir/tags.ts';
import type { ScheduleServices } from '../slots/terms.ts';
import { contains, type Interval, overlaps } from '../time/interval.ts';
import { DAY, YEAR } from '../time/time-zone.ts';
import type { Proposal } from '../visits/search.ts';
import { isInPool, isVisit, readVisit, type Visit } from '../visits/visit.ts';

/** The most entries that one portal may have for one person. */
export const MAX_ENTRIES = 5;

const MAX_WISHES = 20;

/**
 * Checks the wished times of an entry.
 * @returns `element-missing`, `malformed-request`, `period-invalid`, `start-in-past`, `too-far-ahead` for each at fault
 */
export function wishIssues({ value, path }: Located<Appointment>, now: number): Issue[] {
  const wishes = value.requestedPeriod ?? [];
  const wishesPath = `${path}.requestedPeriod`;
  if (wishes.length === 0 || wishes.length > MAX_WISHES) {
    const diagnostics = `Name from 1 to ${MAX_WISHES} times for which the person waits, in requestedPeriod.`;
    return [
      { code: wishes.length === 0 ? 'element-missing' : 'malformed-request', diagnostics, expression: wishesPath },
    ];
  }
  return wishes.flatMap((wish, index): Issue[] => {
    const unreadable = (['start', 'end'] as const).filter((name) => parseInstant(wish[name]) === undefined);
    const [start, end] = [parseInstant(wish.start) ?? 0, parseInstant(wish.end) ?? 0];
    const expression = `${wishesPath}[${index}]`;
    if (unreadable.length > 0) {
      return unreadable.map((name) => ({
        code: 'malformed-request',
        diagnostics: `${name} must be an instant with an offset, such as 2027-01-31T08:00:00+01:00.`,
        expression: `${expression}.${name}`,
      }));
    }
    if (start >= end) {
      return [{ code: 'period-invalid', diagnostics: 'The end must be later than the start.', expression }];
    }
    if (end <= now) {
      return [{ code: 'start-in-past', diagnostics: 'This time is over.', expression }];
    }
    return end > now + YEAR
      ? [{ code: 'too-far-ahead', diagnostics: 'Wait for times within a year from now.', expression }]
      : [];
  });
}

/**
 * The elements that decide about the position of an entry. A portal cannot change them: it must leave and join again.
 */
const ofOrder = ['priority', 'created', 'serviceType'] as const;

/** The elements that decide about positions. No others are read, because there may be thousands of entries. */
export const positionElements = ['id', 'meta', 'status', 'requestedPeriod', ...ofOrder].join();

/** Refuses changes by a portal to immutable elements of an entry, and invalid new wishes. */
export function entryChangeIssues(stored: Appointment, result: Appointment, now: number): Issue[] {
  if (stored.status !== 'waitlist' || result.status !== 'waitlist') {
    return [];
  }
  const isSame = (name: keyof Appointment): boolean => isSameJson(stored[name], result[name]);
  return [
    ...ofOrder
      .filter((name) => !isSame(name))
      .map((name): Issue => {
        const diagnostics = `${name} decides about the place of an entry: leave, and join again.`;
        return { code: 'immutable-element', diagnostics, expression: `Appointment.${name}` };
      }),
    ...(isSame('requestedPeriod') ? [] : wishIssues({ value: result, path: 'Appointment' }, now)),
  ];
}

/**
 * Orders the entries of equal rank by the number of personal offers that their portal already got for this
 * time. No portal can keep a time from all others.
 * @param entries - in the order of `compareEntries`
 * @param earlier - the personal offers of this time so far
 */
export function byTurns(
  entries: readonly Appointment[],
  earlier: readonly Appointment[],
  config: PublicConfig,
): Appointment[] {
  const offersByPortal = Map.groupBy(earlier, (one) => ownerOf(one, config));
  const offersTo = (entry: Appointment): number => offersByPortal.get(ownerOf(entry, config))?.length ?? 0;
  return entries.toSorted(
    (appointment, other) => rank(appointment) - rank(other) || offersTo(appointment) - offersTo(other),
  );
}

export const withHalvedWaiting = (entry: Appointment, now: number): Appointment => ({
  ...entry,
  created: formatInstant(now - Math.max(0, now - since(entry)) / 2),
});

const servesOne = (types: readonly CodeableConcept[], { serviceType = [] }: Appointment): boolean =>
  serviceType.some((wanted) => types.some((type) => isSameService(type, wanted)));

/** The position of an entry among those that wait for one of its services; 1 is the first. */
export const positionOf = (entry: Appointment, appointments: readonly Appointment[], now: number): number => {
  const others = appointments.filter(
    (appointment) => isStillWaiting(appointment, now) && servesOne(entry.serviceType ?? [], appointment),
  );
  return 1 + others.filter((appointment) => compareEntries(appointment, entry) < 0).length;
};

/** Id of the current appointment, which stays until an earlier one is accepted; `undefined` if there is none. */
export function currentAppointmentOf({ extension = [] }: Appointment): string | undefined {
  return idIn(extension.find(({ url }) => url === REPLACES)?.valueReference, 'Appointment');
}

/** The actors that the entry asks for: its participants apart from patients and related persons. */
export const wantedActors = ({ participant }: Appointment): string[] =>
  participant.flatMap(({ actor }) => (actor?.reference && !isPerson(actor.reference) ? actor.reference : []));

export interface FreedTime extends Interval {
  readonly types: readonly CodeableConcept[];
  readonly schedule: Schedule;
}

/**
 * Whether freed time matches an entry: a wished time, a service and an actor of the entry.
 * @param current - the current appointment; the freed time must begin before it
 */
export function fits(entry: Appointment, offered: FreedTime, current: Appointment | undefined): boolean {
  const actors = wantedActors(entry);
  const isWished = (entry.requestedPeriod ?? []).some((wish) => {
    const time = timeOf(wish);
    return time !== undefined && contains(time, offered);
  });
  const before = parseInstant(current?.start) ?? Number.POSITIVE_INFINITY;
  return (
    isWished &&
    offered.start < before &&
    servesOne(offered.types, entry) &&
    (actors.length === 0 || offered.schedule.actor.some(({ reference = '' }) => actors.includes(reference)))
  );
}

/**
 * The visits that an entry waits for, whose appointments are offered together; none if it waits for one appointment.
 * @param services - candidates
 */
export function visitsFor(
  { serviceType = [] }: Appointment,
  services: readonly HealthcareService[],
  config: PublicConfig,
): Visit[] {
  const meant = services.filter(({ id, type = [] }) =>
    serviceType.some((wanted) => serviceIdOf(wanted) === id || type.some((concept) => isSameService(concept, wanted))),
  );
  return meant.every((service) => isVisit(service, config))
    ? meant.flatMap((service) => readVisit(service, config).visit ?? [])
    : [];
}

/**
 * The service types for which time of a Schedule can be offered: its own, and those of visits with a step that it can
 * take.
 */
export function servedTypes(
  { schedule, services }: ScheduleServices,
  all: readonly HealthcareService[],
  config: PublicConfig,
): CodeableConcept[] {
  const visits = all.filter((service) =>
    readVisit(service, config).visit?.steps.some(({ pools }) => pools.some((pool) => isInPool(pool, schedule))),
  );
  return [...(schedule.serviceType ?? []), ...[...services, ...visits].flatMap(({ type }) => type ?? [])];
}

/** The search distance from freed time for a visit without longest gaps, in milliseconds. */
const FAR = 31 * DAY;

/** The parts of the wished times in which a visit could use the freed time. */
export function periodsFor(
  { requestedPeriod = [] }: Appointment,
  { steps, series }: Visit,
  { start, end }: Interval,
  earliest: number,
): Interval[] {
  const length = steps.reduce((sum, { duration = DAY, gapMax }) => sum + duration + gapMax, 0);
  const reach = series ? series.count * series.every * DAY : Math.min(length, FAR);
  return requestedPeriod.flatMap((wish) => {
    const period = {
      start: Math.max(parseInstant(wish.start) ?? start, earliest, start - reach),
      end: Math.min(parseInstant(wish.end) ?? end, end + reach),
    };
    return overlaps(period, { start, end }) ? [period] : [];
  });
}

/**
 * Whether a visit uses freed time of a Schedule. Other visits could be booked without it. A series must be complete.
 */
export const takesFreed = (proposal: Proposal, { series }: Visit, schedule: string, freed: Interval): boolean =>
  proposal.length >= (series?.count ?? 1) &&
  proposal.some((one) => overlaps(one, freed) && one.candidates.some((candidate) => candidate.schedule === schedule));

const isPerson = (reference = ''): boolean => /^(Patient|RelatedPerson)\//.test(reference);

/** An appointment in freed time, with those actors of the Schedule whom the entry names. */
export function inFreedTime(entry: Appointment, { start, end, schedule }: FreedTime, slot: string): Appointment {
  const scheduleActors = new Set(schedule.actor.map(({ reference }) => reference));
  return {
    resourceType: 'Appointment',
    status: 'proposed',
    start: formatInstant(start),
    end: formatInstant(end),
    slot: [{ reference: `Slot/${slot}` }],
    participant: entry.participant.filter(({ actor }) => scheduleActors.has(actor?.reference)),
  };
}

/** The personal offer for an entry: the found appointments, with the elements of the entry. */
export function offeredTo(entry: Appointment, found: readonly Appointment[], now: number): Appointment[] {
  const { id: _, meta: __, identifier: ___, requestedPeriod: ____, created: _____, priority: ______, ...kept } = entry;
  const { extension: entryExtensions = [], ...rest } = kept;
  const people = entry.participant.filter(({ actor }) => isPerson(actor?.reference));
  return found.map((appointment, index) => {
    const foundExtensions = appointment.extension ?? [];
    const extension = [
      ...entryExtensions.filter(
        ({ url }) => !foundExtensions.some((other) => other.url === url) && !(url === REPLACES && index > 0),
      ),
      ...foundExtensions,
    ];
    const others = appointment.participant.filter(({ actor }) => !isPerson(actor?.reference));
    return {
      ...rest,
      ...appointment,
      created: formatInstant(now),
      ...(extension.length > 0 && { extension }),
      participant: [...people, ...others],
    };
  });
}
