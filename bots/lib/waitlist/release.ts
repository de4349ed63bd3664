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

/** How many free Slots of one release are offered at once; what begins later goes on in a row of its own. */
const MAX_SLOTS = 50;

/** For how many of those who wait something is looked for before the first of them is asked. */
const TOGETHER = 20;

/** After how long a time is offered to those again who had another offer and may have declined it, in milliseconds. */
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
  /** Ids of the portals of those who wait that have left the clinic. */
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
  const [stand, former] = await Promise.all([
    readByIds(
      medplum,
      'Appointment',
      entries.flatMap((appointment) => currentAppointmentOf(appointment) ?? []),
    ),
    readFormer(medplum, [...new Set(portals)]),
  ]);
  const movable = ofType('Appointment', stand).filter(canBeMoved);
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

/** An entry with a new version: of two offers to one person, or an offer and a leaving, one is overtaken. */
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

/** On whose behalf time is offered: that of the portal that speaks for the person, or the clinic's. */
function callerFor(entry: Appointment) {
  const owner = ownerOf(entry, config);
  return { id: owner ?? '', role: owner === undefined ? ('staff' as const) : ('requestor' as const), limits: [] };
}

/** A possible personal offer for one waitlist entry. */
interface Candidate {
  readonly entry: Appointment;
  readonly appointments: readonly Appointment[];
  /** The appointments that it would replace. */
  readonly current: readonly Appointment[];
}

/** Offers time to one of those who wait. */
async function offer(
  medplum: MedplumClient,
  { entry, appointments, current }: Candidate,
  end: number,
  former: Waiting['former'],
  secrets: BotEvent['secrets'],
): Promise<'offered' | 'not-theirs' | 'taken' | 'gone'> {
  const now = Date.now();
  const until = Math.min(end, parseInstant(appointments[0]?.start) ?? end);
  // A portal that puts somebody on the list knows how to tell them, as long as there is one.
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
  before: readonly Appointment[],
): Promise<readonly Candidate[]> {
  if (wanted.length === 0 || before.length === 0) {
    return wanted;
  }
  const entries = wanted.map(({ entry }) => entry);
  const read = await readByIds(medplum, 'Patient', [...entries, ...before].flatMap(patientsOf));
  const found = resourceSet(read);
  const wasAsked = (id: string): boolean => {
    const person = findResource(found, 'Patient', id) ?? { resourceType: 'Patient', id };
    return before.some((appointment) => isForPerson(appointment, person, found, config));
  };
  return wanted.filter(({ entry }) => !patientsOf(entry).some(wasAsked));
}

/** Time that was released, and when it may be offered. */
interface Freed extends WaitlistRelease {
  readonly calendar: ScheduleServices;
  readonly policy: EffectivePolicy;
  readonly now: number;
  /** Until when visits are looked for. */
  readonly deadline: number;
  /** Until when one after the other is tried who may not have a time. */
  readonly limit: number;
}

/** The next visit that somebody waits for and that takes released time. */
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

/** Finds the possible personal offers: for each entry one appointment in a Slot, or a visit that uses the time. */
function candidates(medplum: MedplumClient, { entries, current, services }: Waiting, freed: Freed) {
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
 * Offers a free Slot to the first whom it fits and who was not asked for it yet.
 * @param after - the entry up to which earlier runs have passed over those who wait for it
 * @returns after how many milliseconds to offer it again, or the id of the entry after which the next run goes on;
 *   `undefined` if nothing is left to do
 */
async function offerSlot(
  medplum: MedplumClient,
  slot: Slot,
  offered: FreedTime,
  { entries, asked, former }: Waiting,
  candidateFor: ReturnType<typeof candidates>,
  freed: Freed,
  after: string | 'all' | undefined,
  secrets: BotEvent['secrets'],
): Promise<number | string | undefined> {
  const [found] = await readInTransaction(medplum, [askedSearch(offered)]);
  const before = earlierOffers(ofType('Appointment', found), ofType('Slot', found), offered.schedule.id ?? '', config);
  const askedForIt = new Set(before.flatMap((appointment) => offeredFor(appointment, config)));
  if (new Set(before.map((appointment) => offeredFor(appointment, config)[0])).size >= MAX_ASKED) {
    return undefined;
  }
  const until = nextOfferEnd(freed.policy, offered.start, freed.now, before, config);
  if (until === undefined) {
    return undefined;
  }
  const inTurn = byTurns(entries, before, config);
  const passed = after === 'all' ? inTurn.length : inTurn.findIndex(({ id }) => id === after) + 1;
  const others = inTurn.slice(passed).filter(({ id = '' }) => !askedForIt.has(id) && !asked.has(id));
  const busy = entries.filter(({ id = '' }) => !askedForIt.has(id) && asked.has(id));
  // Nobody waits for what is looked for on behalf of those far behind.
  for (const appointments of chunks(others, TOGETHER)) {
    const wanted: Candidate[] = [];
    for (const entry of appointments) {
      const one = await candidateFor(entry, slot, offered);
      wanted.push(...(one ? [one] : []));
    }
    for (const one of await withoutAsked(medplum, wanted, before)) {
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
 * Offers the released time of a row to those who wait for it. Nothing is kept of who is asked but the offers themselves: a
 * run that is interrupted, or comes twice, goes on from what is stored.
 * @param secrets - of the project, by which it is known how people are reached
 * @param limit - until when one after the other is tried who may not have a time; milliseconds since 1970 UTC
 */
export async function offerReleasedTime(
  medplum: MedplumClient,
  id: string,
  secrets: BotEvent['secrets'],
  limit: number,
): Promise<void> {
  const now = Date.now();
  const [rows, somebody = []] = await readInTransaction(medplum, [
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
  const [calendar] = somebody.length > 0 ? await readSchedules(medplum, [freed.schedule]) : [];
  const policy = calendar && effectivePolicy(calendar.schedule, calendar.services, config);
  if (!calendar || !policy || !usesWaitlist(policy) || calendar.schedule.active === false) {
    await close(undefined);
    return;
  }
  const awake = afterQuietHours(policy.policy, now, config.timeZone);
  if (awake > now) {
    await close(awake);
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
  const candidateFor = waiting && candidates(medplum, waiting, released);
  const again: number[] = [];
  const due = () => (again.length > 0 ? now + Math.min(...again) : undefined);
  const at = slots.findIndex(({ id }) => id === freed.after?.slot);
  for (const [index, slot] of waiting && waiting.entries.length > 0 ? slots.entries() : []) {
    const time = offeredTime(slot, freed, calendar, earliestOfferStart(policy, now), config);
    if (time && waiting && candidateFor) {
      const whole = { ...time, schedule: calendar.schedule };
      const after = index === at ? freed.after?.entry : index < at ? 'all' : undefined;
      const next = await offerSlot(medplum, slot, whole, waiting, candidateFor, released, after, secrets);
      if (typeof next === 'string') {
        await close(due(), time.start, { slot: slot.id ?? '', entry: next });
        return;
      }
      again.push(...(next === undefined ? [] : [next]));
    }
  }
  const last = parseInstant(slots.at(-1)?.start) ?? freed.start;
  const ends = slots.map(({ end }) => parseInstant(end) ?? freed.end);
  // More Slots at the same time are not needed.
  const next = last > freed.start ? last : Math.min(...ends);
  await close(due(), slots.length < MAX_SLOTS ? undefined : Math.min(next, freed.end));
}
