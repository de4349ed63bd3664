import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, Bundle, BundleEntry, HealthcareService, Slot, Task } from '@medplum/fhirtypes';
import { isOpenOffer, offeredFor } from '../../../core/booking/appointment/expiry.ts';
import { atTime } from '../../../core/booking/appointment/reads.ts';
import { canBeMoved } from '../../../core/booking/appointment/status.ts';
import { isForPerson } from '../../../core/booking/patients/identity.ts';
import { afterQuietHours, type EffectivePolicy, effectivePolicy } from '../../../core/booking/policy/policy.ts';
import { bodyFor, parseBookRequest } from '../../../core/booking/request/request.ts';
import { formatInstant, parseInstant } from '../../../core/fhir/instant.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { isResource, updateEntry } from '../../../core/fhir/resource.ts';
import { payerKindsOf } from '../../../core/fhir/scheduling/slot-marks.ts';
import { compareEntries } from '../../../core/fhir/scheduling/waitlist-order.ts';
import { markChange, ownerOf } from '../../../core/fhir/tags.ts';
import { isOfClinic } from '../../../core/messages/recipient.ts';
import { findResource, resourceSet } from '../../../core/rows/resource-set.ts';
import { creation } from '../../../core/rows/row.ts';
import { chunks, searchUrl, tokensOf } from '../../../core/rows/search.ts';
import { RESERVED_FOR } from '../../../core/slots/reservation.ts';
import { slotIdsOf } from '../../../core/slots/slot.ts';
import type { ScheduleServices } from '../../../core/slots/terms.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import type { Proposal } from '../../../core/visits/search.ts';
import { otherAppointmentsOf, type Visit } from '../../../core/visits/visit.ts';
import {
  byTurns,
  currentAppointmentOf,
  type FreedTime,
  fits,
  inFreedTime,
  offeredTo,
  periodsFor,
  servedTypes,
  takesFreed,
  visitsFor,
  wantedActors,
  withHalvedWaiting,
} from '../../../core/waitlist/entry.ts';
import {
  askedSearch,
  callRow,
  earlierOffers,
  earliestOfferStart,
  MAX_ASKED,
  nextOfferEnd,
  offeredTime,
  releaseOf,
  releaseRow,
  usesWaitlist,
  type WaitlistRelease,
} from '../../../core/waitlist/release.ts';
import { bookAppointment, isTransient } from '../booking/book.ts';
import { readReaches } from '../booking/reach.ts';
import { readSchedules } from '../booking/related-reads.ts';
import { config } from '../config.ts';
import { newId } from '../medplum.ts';
import { ofType, readAll, readByIds, readFormer, readInTransaction } from '../read.ts';
import { writeRows } from '../rows.ts';
import { firstVisit, readVisits, searchEnd } from '../visits/affected-visits.ts';

/** Maximum number of free Slots per row of released time: later ones continue in a new row. */
const MAX_SLOTS = 50;

/** Number of waitlist entries whose candidates are computed before the first offer. */
const TOGETHER = 20;

/** Delay before a time is offered to people who had another offer and may have declined it, in milliseconds. */
const DECLINED_WITHIN = 15 * 60_000;

const WAITING = 'Appointment?status=waitlist';

const ALL_DAY = { start: 0, end: DAY };

/** Refusals because of the time itself: nobody else is asked. */
const gone: ReadonlySet<string> = new Set(['slot-not-found', 'slot-mismatch', 'schedule-inactive']);

interface Waiting {
  /** In the order of the waitlist. */
  readonly entries: readonly Appointment[];
  /** The current appointments, or those of a whole visit, by the id that an entry names. */
  readonly current: ReadonlyMap<string, readonly Appointment[]>;
  readonly services: readonly HealthcareService[];
  /** Ids of the entries with an open personal offer. */
  readonly asked: Set<string>;
  /** Ids of the entries' portals that have left the clinic. */
  readonly former: ReadonlySet<string | undefined>;
}

/** Reads the waitlist entries that could use free Slots of a Schedule. */
async function readWaiting(
  medplum: MedplumClient,
  calendar: ScheduleServices,
  slots: readonly Slot[],
  now: number,
): Promise<Waiting> {
  const services = ofType('HealthcareService', await readAll(medplum, ['HealthcareService?']));
  const types = tokensOf([
    ...servedTypes(calendar, services, config),
    ...slots.flatMap((slot) => slot.serviceType ?? []),
  ]);
  const found = ofType(
    'Appointment',
    await readAll(medplum, [
      ...chunks([...new Set(types)]).map(
        (some) => `${WAITING}&${new URLSearchParams({ 'service-type': some.join() })}`,
      ),
      `${WAITING}&service-type:missing=true`,
      searchUrl('Appointment', [
        ['status', 'proposed'],
        ['date', `ge${formatInstant(now)}`],
      ]),
    ]),
  );
  const entries = found.filter(({ status }) => status === 'waitlist').toSorted(compareEntries);
  const portals = entries.flatMap((appointment) =>
    isOfClinic(appointment, config) ? [] : (ownerOf(appointment, config) ?? []),
  );
  const [currentAppointments, former] = await Promise.all([
    readByIds(
      medplum,
      'Appointment',
      entries.flatMap((appointment) => currentAppointmentOf(appointment) ?? []),
    ),
    readFormer(medplum, [...new Set(portals)]),
  ]);
  const movable = ofType('Appointment', currentAppointments).filter(canBeMoved);
  const visits = resourceSet(await readVisits(medplum, movable));
  const offers = found.filter((appointment) => isOpenOffer(appointment, now, config));
  return {
    entries,
    current: new Map(
      movable.map((appointment) => [
        appointment.id ?? '',
        [appointment, ...otherAppointmentsOf(appointment, visits, now, config)].toSorted(byStart),
      ]),
    ),
    services,
    asked: new Set(offers.flatMap((appointment) => offeredFor(appointment, config))),
    former: new Set(former),
  };
}

const byStart = (appointment: Appointment, other: Appointment): number =>
  (parseInstant(appointment.start) ?? 0) - (parseInstant(other.start) ?? 0);

/** Gives an entry a new version: of two offers to one person, or an offer and a removal, one is overtaken. */
function touched(entry: Appointment): BundleEntry {
  const meta = markChange(entry.meta, ownerOf(entry, config) ?? '', entry.meta?.versionId, config);
  return updateEntry(entry, { ...withHalvedWaiting(entry, Date.now()), meta });
}

/** Completes the transaction of a personal offer: touches the entry, and adds a task if staff must call the person. */
function withOffer(transaction: Bundle, entry: Appointment, isCalled: boolean): Bundle {
  const [first, ...others] = transaction.entry ?? [];
  const fullUrl = first?.fullUrl ?? newId();
  const offered = first?.resource;
  const call = isCalled && isResource(offered, 'Appointment') ? [creation(callRow(offered, fullUrl, config))] : [];
  return first
    ? { ...transaction, entry: [{ ...first, fullUrl }, ...others, touched(entry), ...call] }
    : { ...transaction, entry: [touched(entry)] };
}

/** The requestor of an offer: the portal of the entry, or the clinic. */
function callerFor(entry: Appointment) {
  const owner = ownerOf(entry, config);
  return { id: owner ?? '', role: owner === undefined ? ('staff' as const) : ('requestor' as const), limits: [] };
}

interface Candidate {
  readonly entry: Appointment;
  readonly appointments: readonly Appointment[];
  /** The appointments that it would replace. */
  readonly current: readonly Appointment[];
}

/**
 * Offers time to one person: `taken` if it is not free, `gone` if its Slot cannot be used, `not-theirs` if the rules do
 * not allow this person to book it.
 * @throws Error after a temporary refusal
 */
async function offer(
  medplum: MedplumClient,
  { entry, appointments, current }: Candidate,
  end: number,
  former: Waiting['former'],
  secrets: BotEvent['secrets'],
): Promise<'offered' | 'not-theirs' | 'taken' | 'gone'> {
  const now = Date.now();
  const until = Math.min(end, parseInstant(appointments[0]?.start) ?? end);
  // The portal of an entry notifies its person, unless the portal has left the clinic.
  const isNotified = !isOfClinic(entry, config) && !former.has(ownerOf(entry, config));
  const [reach] = isNotified ? [] : await readReaches(medplum, [entry], secrets);
  const result = await bookAppointment(
    medplum,
    parseBookRequest(bodyFor(offeredTo(entry, appointments, now)), config),
    callerFor(entry),
    {
      offer: { reason: 'waitlist', for: [entry, ...current].map(({ id = '' }) => id), until },
      extend: (transaction) => withOffer(transaction, entry, reach === 'call'),
    },
  );
  if (result.kind !== 'refused') {
    return 'offered';
  }
  if (isTransient(result.issues)) {
    throw new Error(result.issues.map(({ diagnostics }) => diagnostics).join(' '));
  }
  const isTaken = result.issues.some(({ code }) => code === 'slot-not-free');
  return isTaken ? 'taken' : result.issues.some(({ code }) => gone.has(code)) ? 'gone' : 'not-theirs';
}

const patientsOf = ({ participant }: Appointment): string[] =>
  participant.flatMap(({ actor }) => idIn(actor, 'Patient') ?? []);

/** The candidates whose patients have not been asked yet. */
async function withoutAsked(
  medplum: MedplumClient,
  wanted: readonly Candidate[],
  earlier: readonly Appointment[],
): Promise<readonly Candidate[]> {
  if (wanted.length === 0 || earlier.length === 0) {
    return wanted;
  }
  const entries = wanted.map(({ entry }) => entry);
  const read = await readByIds(medplum, 'Patient', [...entries, ...earlier].flatMap(patientsOf));
  const found = resourceSet(read);
  const wasAsked = (id: string): boolean => {
    const person = findResource(found, 'Patient', id) ?? { resourceType: 'Patient', id };
    return earlier.some((appointment) => isForPerson(appointment, person, found, config));
  };
  return wanted.filter(({ entry }) => !patientsOf(entry).some(wasAsked));
}

/** Time that was released, and when it may be offered. */
interface Freed extends WaitlistRelease {
  readonly calendar: ScheduleServices;
  readonly policy: EffectivePolicy;
  readonly now: number;
  /** The end of the search for visits. */
  readonly deadline: number;
  /** The end of further offers after refusals. */
  readonly limit: number;
}

/** The first visit for an entry that uses released time and begins before its current appointment; else empty. */
async function findWhole(
  medplum: MedplumClient,
  entry: Appointment,
  current: readonly Appointment[],
  visits: readonly Visit[],
  { calendar: { schedule }, policy, now, deadline, ...freed }: Freed,
): Promise<readonly Appointment[]> {
  const caller = callerFor(entry);
  const before = parseInstant(current[0]?.start) ?? Number.POSITIVE_INFINITY;
  const [payerKind] = payerKindsOf(entry, config);
  for (const visit of visits) {
    for (const period of Date.now() < deadline
      ? periodsFor(entry, visit, freed, earliestOfferStart(policy, now))
      : []) {
      const frame = { ...caller, period, hours: ALL_DAY, actors: wantedActors(entry), payerKind, now, config };
      const isWanted = (proposal: Proposal): boolean =>
        takesFreed(proposal, visit, schedule.id ?? '', freed) && (proposal[0]?.start ?? 0) < before;
      const found = await firstVisit(medplum, { caller, visit, frame, deadline, isWanted });
      if (found.length > 0) {
        return found;
      }
    }
  }
  return [];
}

/** Returns a function that finds the offer for an entry: an appointment in the Slot, or a visit that uses the Slot. */
function candidateFinder(medplum: MedplumClient, { entries, current, services }: Waiting, freed: Freed) {
  const visits = new Map(entries.map((appointment) => [appointment, visitsFor(appointment, services, config)]));
  const wholes = new Map<Appointment, Promise<readonly Appointment[]>>();
  const currentOf = (entry: Appointment) => current.get(currentAppointmentOf(entry) ?? '') ?? [];
  return async (entry: Appointment, slot: Slot, offered: FreedTime): Promise<Candidate | undefined> => {
    const beside = currentOf(entry);
    const wanted = visits.get(entry) ?? [];
    if (wanted.length === 0) {
      const appointments = fits(entry, offered, beside[0]) ? [inFreedTime(entry, offered, slot.id ?? '')] : [];
      return candidate(entry, appointments, beside);
    }
    const whole = wholes.get(entry) ?? findWhole(medplum, entry, beside, wanted, freed);
    wholes.set(entry, whole);
    const appointments = await whole;
    const takesIt = appointments.some((appointment) => slotIdsOf(appointment).includes(slot.id ?? ''));
    return candidate(entry, takesIt ? appointments : [], beside);
  };
}

function candidate(
  entry: Appointment,
  appointments: readonly Appointment[],
  current: readonly Appointment[],
): Candidate | undefined {
  return appointments.length > 0 ? { entry, appointments, current } : undefined;
}

/**
 * Offers a free Slot to the first person whom it fits and who was not asked for it yet.
 * @param after - id of the last entry that earlier runs have tried; `all` if they have tried every entry
 * @returns the delay before the Slot is offered again (milliseconds), or the id of the entry after which the next run
 *   continues; `undefined` if nothing is left to do
 */
async function offerSlot(
  medplum: MedplumClient,
  slot: Slot,
  offered: FreedTime,
  { entries, asked, former }: Waiting,
  candidateFor: ReturnType<typeof candidateFinder>,
  freed: Freed,
  after: string | 'all' | undefined,
  secrets: BotEvent['secrets'],
): Promise<number | string | undefined> {
  const [found] = await readInTransaction(medplum, [askedSearch(offered)]);
  const earlier = earlierOffers(ofType('Appointment', found), ofType('Slot', found), offered.schedule.id ?? '', config);
  const askedForIt = new Set(earlier.flatMap((appointment) => offeredFor(appointment, config)));
  if (new Set(earlier.map((appointment) => offeredFor(appointment, config)[0])).size >= MAX_ASKED) {
    return undefined;
  }
  const until = nextOfferEnd(freed.policy, offered.start, freed.now, earlier, config);
  if (until === undefined) {
    return undefined;
  }
  const inTurn = byTurns(entries, earlier, config);
  const triedCount = after === 'all' ? inTurn.length : inTurn.findIndex(({ id }) => id === after) + 1;
  const untried = inTurn.slice(triedCount).filter(({ id = '' }) => !askedForIt.has(id) && !asked.has(id));
  const busy = entries.filter(({ id = '' }) => !askedForIt.has(id) && asked.has(id));
  // In chunks, so that the first offers do not wait for the search for later entries.
  for (const appointments of chunks(untried, TOGETHER)) {
    const wanted: Candidate[] = [];
    for (const entry of appointments) {
      const one = await candidateFor(entry, slot, offered);
      wanted.push(...(one ? [one] : []));
    }
    for (const one of await withoutAsked(medplum, wanted, earlier)) {
      const result = await offer(medplum, one, until, former, secrets);
      if (result === 'offered') {
        asked.add(one.entry.id ?? '');
      }
      if (result !== 'not-theirs') {
        // The reservation may still be refused. Then the time is free again without a release.
        return result === 'taken' ? RESERVED_FOR : undefined;
      }
      if (Date.now() >= freed.limit) {
        return one.entry.id;
      }
    }
  }
  for (const entry of busy) {
    if (await candidateFor(entry, slot, offered)) {
      return DECLINED_WITHIN;
    }
  }
  return undefined;
}

/**
 * Offers the released time of a row to the people on the waitlist. Only the offers say who was asked: a run that is
 * interrupted or repeated continues from them. A row that is missing or not due is left as it is.
 * @param secrets - of the project; they decide whether people can get SMS
 * @param limit - after a refused offer, no further one is made after it; milliseconds since 1970 UTC
 */
export async function offerReleasedTime(
  medplum: MedplumClient,
  id: string,
  secrets: BotEvent['secrets'],
  limit: number,
): Promise<void> {
  const now = Date.now();
  const [rows, anyEntry = []] = await readInTransaction(medplum, [
    `Task?_id=${id}`,
    'Appointment?status=waitlist&_count=1&_fields=id',
  ]);
  const [row] = ofType('Task', rows);
  const freed = row && releaseOf(row);
  if (!row || !freed?.due || freed.due > now) {
    return;
  }
  const close = (due: number | undefined, end = freed.end, after?: WaitlistRelease['after']) => {
    const rest = end < freed.end ? [creation(releaseRow({ ...freed, start: end, due: now, after }, config))] : [];
    const closed = updateEntry<Task>(row, releaseRow({ ...freed, end, due, after: undefined }, config, row));
    return writeRows(medplum, [closed, ...rest], `Task/${id}`);
  };
  const [calendar] = anyEntry.length > 0 ? await readSchedules(medplum, [freed.schedule]) : [];
  const policy = calendar && effectivePolicy(calendar.schedule, calendar.services, config);
  if (!calendar || !policy || !usesWaitlist(policy) || calendar.schedule.active === false) {
    await close(undefined);
    return;
  }
  const quietEnd = afterQuietHours(policy.policy, now, config.timeZone);
  if (quietEnd > now) {
    await close(quietEnd);
    return;
  }
  const [found] = await readInTransaction(medplum, [
    searchUrl('Slot', [
      ['schedule', `Schedule/${freed.schedule}`],
      ['status', 'free'],
      ...atTime(freed),
      ['_sort', 'start,_id'],
      ['_count', String(MAX_SLOTS)],
    ]),
  ]);
  const slots = ofType('Slot', found);
  const waiting = slots.length > 0 ? await readWaiting(medplum, calendar, slots, now) : undefined;
  const released = { ...freed, calendar, policy, now, deadline: searchEnd(now), limit };
  const candidateFor = waiting && candidateFinder(medplum, waiting, released);
  const delays: number[] = [];
  const due = () => (delays.length > 0 ? now + Math.min(...delays) : undefined);
  const resumeIndex = slots.findIndex(({ id }) => id === freed.after?.slot);
  for (const [index, slot] of waiting && waiting.entries.length > 0 ? slots.entries() : []) {
    const time = offeredTime(slot, freed, calendar, earliestOfferStart(policy, now), config);
    if (time && waiting && candidateFor) {
      const whole = { ...time, schedule: calendar.schedule };
      const after = index === resumeIndex ? freed.after?.entry : index < resumeIndex ? 'all' : undefined;
      const next = await offerSlot(medplum, slot, whole, waiting, candidateFor, released, after, secrets);
      if (typeof next === 'string') {
        await close(due(), time.start, { slot: slot.id ?? '', entry: next });
        return;
      }
      delays.push(...(next === undefined ? [] : [next]));
    }
  }
  const last = parseInstant(slots.at(-1)?.start) ?? freed.start;
  const ends = slots.map(({ end }) => parseInstant(end) ?? freed.end);
  const next = last > freed.start ? last : Math.min(...ends);
  await close(due(), slots.length < MAX_SLOTS ? undefined : Math.min(next, freed.end));
}
