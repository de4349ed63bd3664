import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, Slot, Task } from '@medplum/fhirtypes';
import {
  type Absent,
  isAbsentAt,
  LOOKED_AHEAD,
  NOTICE,
  type Proposal,
  patientsOf,
  planAbsence,
} from '../../../core/absence/plan.ts';
import {
  absenceReason,
  type Known,
  MAX_TRIES,
  nextStep,
  replacementOffer,
  type Step,
} from '../../../core/absence/progress.ts';
import {
  type Absence,
  type Affected,
  type AffectedStatus,
  absenceOf,
  absenceRow,
  absentBy,
  affectedOf,
  affectedOfAbsence,
  type Entry,
  isAffected,
  lockRow,
  lockSearch,
  newAffected,
  openAbsences,
  openAffected,
  statusOfRow,
  withStatus,
} from '../../../core/absence/rows.ts';
import { isFromWaitlist, isOpenOffer, offeredFor } from '../../../core/booking/appointment/expiry.ts';
import { atTime, holderSearch } from '../../../core/booking/appointment/reads.ts';
import { holdsSlots, isOpen } from '../../../core/booking/appointment/status.ts';
import { effectivePolicy } from '../../../core/booking/policy/policy.ts';
import { bodyFor, parseBookRequest } from '../../../core/booking/request/request.ts';
import { formatInstant, parseInstant, timeOf } from '../../../core/fhir/instant.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { isResource, updateEntry } from '../../../core/fhir/resource.ts';
import { ownerOf } from '../../../core/fhir/tags.ts';
import { creation } from '../../../core/rows/row.ts';
import { chunks, searchUrl } from '../../../core/rows/search.ts';
import { type CalendarSlot, slotIdsOf } from '../../../core/slots/slot.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { notifiedGroupOf, stepOf } from '../../../core/visits/visit.ts';
import { currentAppointmentOf } from '../../../core/waitlist/entry.ts';
import { offerEnd } from '../../../core/waitlist/release.ts';
import { type BookingResult, bookAppointment, isTransient } from '../booking/book.ts';
import { cancelEntries } from '../booking/cancel.ts';
import { readReaches } from '../booking/reach.ts';
import { readRelatedAppointment, readSchedules } from '../booking/related-reads.ts';
import { config } from '../config.ts';
import { newId, writeUnlessOvertaken } from '../medplum.ts';
import { ofType, readAll, readByIds, readInBatch, readInTransaction, readPages } from '../read.ts';
import { writeRows } from '../rows.ts';
import {
  type Bounds,
  findInstead,
  readAffectedVisits,
  readVisits,
  searchEnd,
  type Whole,
  withoutListed,
} from '../visits/affected-visits.ts';
import { readNotifiedTogether } from '../visits/dependent-appointments.ts';

/** Number of appointments that get their rows in one transaction. */
const CHUNK = 40;

const unique = <T>(all: readonly T[]): T[] => [...new Set(all)];

/** Reads the periods in which Schedules are absent, from the stored Slots that block them. */
export const readAbsent = async (medplum: MedplumClient, blocks: readonly string[]): Promise<Absent[]> =>
  absentBy(ofType('Slot', await readByIds(medplum, 'Slot', blocks)));

interface AffectedRead {
  /** Of each affected visit only the first step: its person is called once. */
  readonly appointments: readonly Appointment[];
  readonly offers: readonly Appointment[];
  readonly slots: readonly Slot[];
}

/** Reads the appointments and personal offers that cannot take place, and their Slots; what has begun is left out. */
export async function readAffected(
  medplum: MedplumClient,
  absent: readonly Absent[],
  now: number,
): Promise<AffectedRead> {
  const slotIds: string[] = [];
  const searches = absent
    .filter(({ end }) => end > now)
    .map(({ schedule, start, end }) =>
      searchUrl('Slot', [
        ['schedule', `Schedule/${schedule}`],
        ['status', 'busy,busy-tentative'],
        ...atTime({ start: Math.max(start, now), end }),
      ]),
    );
  for await (const pages of searches.length > 0 ? readPages(medplum, searches, { order: 'start' }) : []) {
    slotIds.push(...ofType('Slot', pages.flat()).flatMap(({ id }) => id ?? []));
  }
  const holders = (await readInBatch(medplum, chunks(unique(slotIds)).map(holderSearch))).flat();
  const open = [
    ...new Map(ofType('Appointment', holders).map((appointment) => [appointment.id, appointment])).values(),
  ];
  const slots = ofType('Slot', await readByIds(medplum, 'Slot', open.flatMap(slotIdsOf)));
  const affected = open
    .filter((appointment) => (parseInstant(appointment.start) ?? 0) > now && isAffected(appointment, slots, absent))
    .sort((appointment, other) => ((appointment.start ?? '') < (other.start ?? '') ? -1 : 1));
  const visits = Map.groupBy(affected, (appointment) => notifiedGroupOf(appointment, config) ?? appointment.id);
  const appointments = [...visits.values()].flatMap(([first]) => first ?? []);
  const offers = open.filter(
    (appointment) =>
      isOpenOffer(appointment, now, config) &&
      isFromWaitlist(appointment, config) &&
      isAffected({ ...appointment, status: 'booked' }, slots, absent),
  );
  return { appointments, offers, slots };
}

/** Withdraws the personal offers to people on the waitlist that cannot take place. */
export async function withdrawOffers(medplum: MedplumClient, { offers }: AffectedRead): Promise<void> {
  for (const { id = '' } of offers) {
    const found = await readRelatedAppointment(medplum, id);
    const { appointment } = found;
    if (appointment?.status === 'proposed') {
      const entries = await cancelEntries(medplum, found, appointment, absenceReason('withdraw', config));
      await writeRows(medplum, entries, `Appointment/${id}`);
    }
  }
}

interface Wanted extends Omit<AffectedRead, 'offers'> {
  readonly absent: readonly Absent[];
  readonly substitutes: readonly string[];
  /** Ids of Slots that are meant for others. */
  readonly reserved?: ReadonlySet<string>;
  /** Ids of personal offers that are being withdrawn. */
  readonly withdrawn?: readonly (string | undefined)[];
}

async function readFreeSlots(
  medplum: MedplumClient,
  schedules: readonly string[],
  from: number,
  to: number,
): Promise<Slot[]> {
  const searches = schedules.map((id) =>
    searchUrl('Slot', [['schedule', `Schedule/${id}`], ['status', 'free'], ...atTime({ start: from, end: to })]),
  );
  const found = new Map<string | undefined, Slot>();
  for await (const pages of searches.length > 0 ? readPages(medplum, searches, { order: 'start' }) : []) {
    for (const slot of ofType('Slot', pages.flat())) {
      found.set(slot.id, slot);
    }
  }
  return [...found.values()];
}

/** Plans a new time and the way to notify its people for each appointment that cannot take place; writes nothing. */
export async function plan(
  medplum: MedplumClient,
  { appointments, slots, absent, substitutes, reserved = new Set(), withdrawn = [] }: Wanted,
  secrets: BotEvent['secrets'],
): Promise<Entry[]> {
  if (appointments.length === 0) {
    return [];
  }
  const now = Date.now();
  const scheduleIds = slots.flatMap((slot) => idIn(slot.schedule, 'Schedule') ?? []);
  const ids = unique([...scheduleIds, ...substitutes]);
  const searchUntil = Math.max(...appointments.map(({ end }) => parseInstant(end) ?? now)) + LOOKED_AHEAD;
  const patients = unique(
    appointments.flatMap(({ participant }) => participant.flatMap(({ actor }) => idIn(actor, 'Patient') ?? [])),
  );
  const [visits, schedules, free, found, reaches] = await Promise.all([
    readAffectedVisits(medplum, appointments, absent, now),
    readSchedules(medplum, ids),
    readFreeSlots(medplum, ids, now, searchUntil),
    readInBatch(
      medplum,
      chunks(patients, 50).map((some) =>
        searchUrl('Appointment', [
          ['patient', some.map((id) => `Patient/${id}`).join(',')],
          ['status', 'proposed,pending,booked,arrived,checked-in'],
          ['date', `ge${formatInstant(now - DAY)}`],
          ['date', `le${formatInstant(searchUntil)}`],
          ['_count', '1000'],
        ]),
      ),
    ),
    readReaches(medplum, appointments, secrets),
  ]);
  const others = ofType('Appointment', found.flat()).filter(({ id }) => !withdrawn.includes(id));
  // A step is moved within the gaps of its visit. If that fails, or other steps are affected, the whole visit is moved.
  const single = appointments.filter((appointment) => !visits.isMore(appointment));
  const proposals = planAbsence(
    {
      affected: single,
      taken: slots,
      absent,
      schedules,
      substitutes,
      free: free.filter(({ id = '' }) => !reserved.has(id)),
      others,
      fits: visits.fits,
      now,
    },
    config,
  );
  const planned = new Map(appointments.map((appointment) => [appointment, proposals[single.indexOf(appointment)]]));
  const deadline = searchEnd(now);
  for (const one of appointments.filter((each) => !planned.get(each))) {
    const whole = visits.wholeOf(one);
    // After the deadline, the rest has no proposal: staff call.
    if (!whole || Date.now() >= deadline) {
      continue;
    }
    const taken = new Set([...reserved, ...[...planned.values()].flatMap((proposal) => proposal?.slots ?? [])]);
    const mayTake = (slot: CalendarSlot): boolean => !taken.has(slot.id) && !isAbsentAt(slot.schedule, slot, absent);
    planned.set(
      one,
      await planWhole(medplum, one, whole, { others, planned, last: searchUntil, deadline, now, mayTake }),
    );
  }
  return appointments.map((appointment, index) => {
    const proposal = planned.get(appointment);
    const isCalled = visits.isMore(appointment) && !proposal;
    return { appointment: appointment.id ?? '', reach: isCalled ? 'call' : (reaches[index] ?? 'call'), proposal };
  });
}

interface PlanningWhole extends Pick<Bounds, 'mayTake' | 'deadline' | 'now'> {
  readonly others: readonly Appointment[];
  /** The proposals so far, by appointment. */
  readonly planned: ReadonlyMap<Appointment, Proposal | undefined>;
  readonly last: number;
}

/** Plans the earliest replacement of a whole visit, not before its start; `undefined` if there is none. */
async function planWhole(
  medplum: MedplumClient,
  appointment: Appointment,
  whole: Whole,
  { others, planned, last, now, ...bounds }: PlanningWhole,
): Promise<Proposal | undefined> {
  const stepIds = new Set(whole.steps.map(({ id }) => id));
  const hasSamePatient = (other: Appointment): boolean =>
    patientsOf(other).some((each) => patientsOf(appointment).includes(each));
  const busy = [
    ...others
      .filter((other) => isOpen(other) && !stepIds.has(other.id) && hasSamePatient(other))
      .flatMap((other) => timeOf(other) ?? []),
    ...[...planned].flatMap(([other, proposal]) => (proposal && hasSamePatient(other) ? [proposal] : [])),
  ];
  const start = Math.max(parseInstant(whole.steps[0]?.start) ?? now, now + NOTICE);
  const found = await findInstead(medplum, whole, { ...bounds, period: { start, end: last }, busy, now });
  const slots = found.flatMap(slotIdsOf);
  const sameStep = found.find((step) => stepOf(step, config)?.step === stepOf(appointment, config)?.step);
  const [slot] = ofType('Slot', await readByIds(medplum, 'Slot', sameStep ? slotIdsOf(sameStep).slice(0, 1) : []));
  const [schedule] = scheduleOf(slot);
  const times = found.flatMap((step) => timeOf(step) ?? []);
  return schedule === undefined
    ? undefined
    : {
        schedule,
        slots,
        start: Math.min(...times.map((time) => time.start)),
        end: Math.max(...times.map((time) => time.end)),
        isVisit: true,
      };
}

/**
 * Reads the confirmed absences, their absent periods, and the open rows of appointments by appointment id. `drafts` are
 * the absences whose plans wait for confirmation.
 */
export async function readOpenAbsences(medplum: MedplumClient) {
  const [found] = await readInTransaction(medplum, [`${openAbsences(config)}&_count=1000`]);
  const all = ofType('Task', found).map((row) => ({ row, absence: absenceOf(row) }));
  const drafts = all.filter(({ row }) => row.status === 'draft');
  const absences = all.filter(({ row }) => row.status !== 'draft');
  const slots = ofType(
    'Slot',
    await readByIds(
      medplum,
      'Slot',
      absences.flatMap(({ absence }) => absence.blocks),
    ),
  );
  return { absences, drafts, absent: absentBy(slots), rows: await readOpenRows(medplum) };
}

/** Reads the lock row, or creates it; only one of several concurrent requests creates it. */
export async function readLock(medplum: MedplumClient): Promise<Task> {
  const [found] = await readInTransaction(medplum, [lockSearch(config)]);
  const [row] = ofType('Task', found);
  if (row) {
    return row;
  }
  const written = await writeUnlessOvertaken(medplum, [creation(lockRow(config), lockSearch(config))], 'The lock');
  const made = written?.entry?.[0]?.resource;
  if (!isResource(made, 'Task')) {
    throw new Error('The lock of absences could not be made.');
  }
  return made;
}

/** The open rows of affected appointments, by the id of the appointment. */
async function readOpenRows(medplum: MedplumClient): Promise<Map<string, Task>> {
  const rows = ofType('Task', await readAll(medplum, [openAffected(config)]));
  return new Map(rows.map((row) => [idIn(row.focus, 'Appointment') ?? '', row]));
}

/**
 * Creates rows for the appointments of a plan and for those booked since, chunk by chunk. Each transaction also updates
 * the row of the absence, which has the rest of the plan, and the lock: an appointment of two absences gets one row.
 * @returns whether all appointments have rows; also `true` if the absence is no longer in progress
 */
async function createRows(
  medplum: MedplumClient,
  id: string,
  absent: readonly Absent[],
  secrets: BotEvent['secrets'],
  end: number,
): Promise<boolean> {
  const listed = new Set(
    ofType('Task', await readAll(medplum, [affectedOfAbsence(id, config)])).flatMap(
      ({ focus }) => idIn(focus, 'Appointment') ?? [],
    ),
  );
  while (Date.now() < end) {
    const now = Date.now();
    const lock = await readLock(medplum);
    const [rows] = await readInTransaction(medplum, [`Task?_id=${id}`]);
    const [row] = ofType('Task', rows);
    if (row?.status !== 'in-progress') {
      return true;
    }
    const absence = absenceOf(row);
    const open = await readOpenRows(medplum);
    const current = await readAbsentOf(medplum, absence);
    const read = await readAffected(medplum, current, now);
    const { appointments, slots } = read;
    await withdrawOffers(medplum, read);
    const hasNoRow = ({ id: one = '' }: Appointment): boolean => !open.has(one) && !listed.has(one);
    const planned = new Set(absence.plan.map(({ appointment }) => appointment));
    const unlisted = await withoutListed(medplum, appointments.filter(hasNoRow), open);
    const unplanned = unlisted.filter((one) => !planned.has(one.id ?? '')).slice(0, CHUNK);
    const reserved = new Set(
      [...absence.plan, ...[...open.values()].flatMap((task) => affectedOf(task) ?? [])].flatMap(
        ({ proposal }) => proposal?.slots ?? [],
      ),
    );
    const next =
      absence.plan.length > 0
        ? absence.plan.slice(0, CHUNK)
        : await plan(
            medplum,
            { appointments: unplanned, slots, absent, substitutes: absence.substitutes, reserved },
            secrets,
          );
    if (next.length === 0) {
      return true;
    }
    const byId = new Map(unlisted.map((one) => [one.id ?? '', one]));
    const made = next
      .filter(({ appointment }) => byId.has(appointment))
      .map((entry) => creation(newAffected(entry, byId.get(entry.appointment), absence, id, now, config)));
    const left = absenceRow({ ...absence, plan: absence.plan.slice(CHUNK) }, 'in-progress', now, config, row);
    const written = await writeUnlessOvertaken(
      medplum,
      [updateEntry(row, left), updateEntry(lock, lockRow(config, lock)), ...made],
      `Task/${id}`,
    );
    for (const { appointment } of written ? next : []) {
      listed.add(appointment);
    }
  }
  return false;
}

const readAbsentOf = (medplum: MedplumClient, { blocks }: Absence): Promise<Absent[]> => readAbsent(medplum, blocks);

interface Acting extends Omit<Known, 'row' | 'rowStatus'> {
  readonly row: Task;
  readonly affected: Affected;
  readonly absence: Absence | undefined;
  readonly secrets: BotEvent['secrets'];
}

const store = async (medplum: MedplumClient, row: Task, entry: BundleEntry[]): Promise<void> => {
  // On a conflict the next run decides again.
  await writeRows(medplum, entry, `Task/${row.id}`);
};

const rowEntry = (row: Task, status: AffectedStatus, more: Parameters<typeof withStatus>[2] = {}): BundleEntry =>
  updateEntry(row, withStatus(row, status, more));

/**
 * Whether a booking was overtaken: then the next run decides again.
 * @throws Error after any other temporary refusal
 */
function isLeftToNext(result: BookingResult | undefined): boolean {
  const issues = result?.kind === 'refused' ? result.issues : [];
  const isOvertaken = issues.length > 0 && issues.every(({ code }) => code === 'booking-conflict');
  if (!isOvertaken && isTransient(issues)) {
    throw new Error(issues.map(({ diagnostics }) => diagnostics).join(' '));
  }
  return isOvertaken;
}

/** Cancels an open offer and updates its row (`after`) together; does nothing if the offer has changed since. */
async function withdrawOffer(medplum: MedplumClient, { row, offer }: Acting, after: BundleEntry): Promise<void> {
  const found = await readRelatedAppointment(medplum, offer?.id ?? '');
  const { appointment: stored } = found;
  if (!stored || stored.meta?.versionId !== offer?.meta?.versionId) {
    return;
  }
  const isOpen = stored.status === 'proposed';
  const ended = isOpen ? await cancelEntries(medplum, found, stored, absenceReason('withdraw', config)) : [];
  await store(medplum, row, [after, ...ended]);
}

/** Cancels an appointment that cannot take place; if a whole visit was proposed instead, the whole visit. */
async function cancel(medplum: MedplumClient, { row, affected, appointment }: Acting): Promise<void> {
  const found = await readRelatedAppointment(medplum, appointment?.id ?? '');
  const { appointment: stored } = found;
  if (stored && stored.meta?.versionId === appointment?.meta?.versionId) {
    const all = affected.proposal?.isVisit ? await readNotifiedTogether(medplum, stored) : undefined;
    const entries = await cancelEntries(medplum, found, stored, absenceReason('cancel', config), all);
    await store(medplum, row, [rowEntry(row, 'declined'), ...entries]);
  }
}

/** The change that a personal offer proposes for one appointment. */
interface Change {
  readonly from: Appointment;
  readonly to: Omit<Proposal, 'schedule'>;
  /** The shared identifier of a visit's offers, and their services. */
  readonly more?: Pick<Appointment, 'identifier' | 'serviceType'>;
}

/** The changes of a proposal: one appointment, or each step of a visit; none if the visit is no longer possible. */
async function changesFor(
  medplum: MedplumClient,
  { absent }: Acting,
  appointment: Appointment,
  proposal: Proposal,
  now: number,
): Promise<Change[]> {
  if (!proposal.isVisit) {
    return [{ from: appointment, to: proposal }];
  }
  const whole = (await readAffectedVisits(medplum, [appointment], absent, now)).wholeOf(appointment);
  const mayTake = (slot: CalendarSlot): boolean => proposal.slots.includes(slot.id);
  const bounds = { period: proposal, busy: [], now, deadline: searchEnd(now), mayTake };
  const found = whole ? await findInstead(medplum, whole, bounds) : [];
  return found.flatMap((one): Change[] => {
    const step = stepOf(one, config)?.step;
    const from = whole?.steps.find((each) => stepOf(each, config)?.step === step);
    const time = timeOf(one);
    const { minutesDuration: _, ...current } = from ?? one;
    const { identifier, serviceType = current.serviceType } = one;
    return time ? [{ from: current, to: { ...time, slots: slotIdsOf(one) }, more: { identifier, serviceType } }] : [];
  });
}

/** Offers the proposed time. If it is gone, plans a new one; after MAX_TRIES, or if it is too late, staff call. */
async function offer(medplum: MedplumClient, acting: Acting): Promise<void> {
  const { row, affected, appointment, slots, absence } = acting;
  const { proposal } = affected;
  if (!appointment || !proposal) {
    return;
  }
  const now = Date.now();
  const changes = await changesFor(medplum, acting, appointment, proposal, now);
  const found = ofType(
    'Slot',
    await readByIds(medplum, 'Slot', unique(changes.flatMap(({ from, to }) => [...slotIdsOf(from), ...to.slots]))),
  );
  const schedulesOf = (ids: readonly string[]) =>
    unique(ids.flatMap((id) => scheduleOf(found.find((slot) => slot.id === id))));
  const schedules = await readSchedules(medplum, unique(found.flatMap(scheduleOf)));
  const proposed = changes.map(({ from, to, more }) => {
    const [before, after] = [schedulesOf(slotIdsOf(from)), schedulesOf(to.slots)];
    const named = (ids: readonly string[], but: readonly string[]) =>
      schedules.flatMap(({ schedule }) =>
        schedule.id && ids.includes(schedule.id) && !but.includes(schedule.id) ? [schedule] : [],
      );
    return { ...replacementOffer(from, to, named(before, after), named(after, before)), ...more };
  });
  const target = schedules.find(({ schedule }) => schedule.id === proposal.schedule) ?? schedules[0];
  const begin = Math.min(proposal.start, ...changes.map(({ from }) => parseInstant(from.start) ?? proposal.start));
  const until = target ? offerEnd(effectivePolicy(target.schedule, target.services, config), begin, now) : begin;
  const result =
    until > now && proposed.length > 0
      ? await bookAppointment(
          medplum,
          parseBookRequest(bodyFor(proposed), config),
          { id: ownerOf(appointment, config) ?? '', role: 'staff', limits: [] },
          {
            offer: { reason: 'absence', for: changes.map(({ from }) => from.id ?? ''), until },
            extend: (transaction) => {
              const [first, ...others] = transaction.entry ?? [];
              const fullUrl = first?.fullUrl ?? newId();
              // Somebody who is called is called with a time that is held for them.
              const rowStatus = affected.reach === 'call' ? 'call' : 'offered';
              const kept = rowEntry(row, rowStatus, { offer: fullUrl, tries: affected.tries + 1, end: until });
              return first ? { ...transaction, entry: [{ ...first, fullUrl }, ...others, kept] } : transaction;
            },
          },
        )
      : undefined;
  if (result?.kind === 'booked') {
    return;
  }
  if (isLeftToNext(result)) {
    return;
  }
  if (affected.tries + 1 >= MAX_TRIES || until <= now) {
    await store(medplum, row, [rowEntry(row, 'call')]);
    return;
  }
  const open = await readOpenRows(medplum);
  const reserved = new Set([
    ...proposal.slots,
    ...[...open.values()].flatMap((task) => affectedOf(task)?.proposal?.slots ?? []),
  ]);
  const [entry] = await plan(
    medplum,
    {
      appointments: [appointment],
      slots,
      absent: acting.absent,
      substitutes: absence?.substitutes ?? [],
      reserved,
    },
    acting.secrets,
  );
  const rowStatus = entry?.proposal ? 'waiting' : 'call';
  await store(medplum, row, [rowEntry(row, rowStatus, { proposal: entry?.proposal, tries: affected.tries + 1 })]);
}

const scheduleOf = (slot: Slot | undefined): string[] => {
  const id = idIn(slot?.schedule, 'Schedule');
  return id ? [id] : [];
};

/** Books the offered time although its person has not replied; if the time is gone, staff call. */
async function move(medplum: MedplumClient, { row, offer: offered, together }: Acting): Promise<void> {
  if (!offered) {
    return;
  }
  const appointments = [offered, ...together].map(
    ({ meta: _, extension: __, cancelationReason: ___, ...said }): Appointment => ({ ...said, status: 'proposed' }),
  );
  const result = await bookAppointment(
    medplum,
    parseBookRequest(bodyFor(appointments), config),
    { id: '', role: 'staff', limits: [] },
    { extend: (transaction) => ({ ...transaction, entry: [...(transaction.entry ?? []), rowEntry(row, 'moved')] }) },
  );
  if (result.kind !== 'booked' && !isLeftToNext(result)) {
    await store(medplum, row, [rowEntry(row, result.kind === 'existing' ? 'moved' : 'call')]);
  }
}

/** Whether the patient has booked another time in place of this appointment since its row was created. */
async function wasReplaced(medplum: MedplumClient, { row, appointment }: Acting): Promise<boolean> {
  const patients = (appointment?.participant ?? []).flatMap(({ actor }) => idIn(actor, 'Patient') ?? []);
  if (!appointment || patients.length === 0) {
    return false;
  }
  const [found] = await readInTransaction(medplum, [
    searchUrl('Appointment', [
      ['patient', patients.map((id) => `Patient/${id}`).join(',')],
      ['_lastUpdated', `ge${row.authoredOn}`],
      ['_count', '100'],
    ]),
  ]);
  return ofType('Appointment', found).some((one) => currentAppointmentOf(one) === appointment.id && holdsSlots(one));
}

const acts: {
  readonly [Name in Step['do']]: (
    medplum: MedplumClient,
    acting: Acting,
    step: Extract<Step, { do: Name }>,
  ) => Promise<void>;
} = {
  nothing: async () => undefined,
  end: async (medplum, acting, { as, withdraws }) => {
    const isReplaced = as === 'declined' && (await wasReplaced(medplum, acting));
    const entry = rowEntry(acting.row, isReplaced ? 'moved' : as);
    await (withdraws ? withdrawOffer(medplum, acting, entry) : store(medplum, acting.row, [entry]));
  },
  tick: async (medplum, { row }) => store(medplum, row, [updateEntry(row, { ...row, status: 'completed' })]),
  offer,
  renew: async (medplum, acting) => {
    const [entry] = await plan(
      medplum,
      {
        appointments: acting.appointment ? [acting.appointment] : [],
        slots: acting.slots,
        absent: acting.absent,
        substitutes: acting.absence?.substitutes ?? [],
        withdrawn: [acting.offer, ...acting.together].map((appointment) => appointment?.id),
      },
      acting.secrets,
    );
    await withdrawOffer(medplum, acting, rowEntry(acting.row, 'waiting', { proposal: entry?.proposal }));
  },
  cancel,
  move,
};

const carryOutStep = <Name extends Step['do']>(
  medplum: MedplumClient,
  acting: Acting,
  step: Extract<Step, { do: Name }>,
): Promise<void> => acts[step.do as Name](medplum, acting, step);

/**
 * Yields the acts for confirmed absences: they create the rows of appointments, then carry out the next step of each
 * appointment. Also cancels drafts whose period is over, and closes finished absences. The next run continues.
 * @param secrets - of the project; they decide whether people can get SMS
 * @param end - no row is created after it; milliseconds since 1970 UTC
 * @param only - id of the absence, by default all
 * @yields one act after the other
 */
export async function* absenceActs(
  medplum: MedplumClient,
  secrets: BotEvent['secrets'],
  end: number,
  only?: string,
): AsyncGenerator<() => Promise<void>> {
  const { absences, drafts, absent } = await readOpenAbsences(medplum);
  for (const { row, absence } of drafts.filter((one) => one.absence.period.end <= Date.now())) {
    yield async () => {
      const over = absenceRow(absence, 'cancelled', Date.now(), config, row);
      await writeRows(medplum, [updateEntry(row, over)], `Task/${row.id}`);
    };
  }
  const selected = absences.filter(({ row }) => only === undefined || row.id === only);
  const whole = new Set<string | undefined>();
  for (const { row } of selected) {
    yield async () => {
      if (await createRows(medplum, row.id ?? '', absent, secrets, end)) {
        whole.add(row.id);
      }
    };
  }
  const rows = (
    await Promise.all(selected.map(({ row }) => readAll(medplum, [affectedOfAbsence(row.id ?? '', config)])))
  ).flat();
  const ticked = new Set<string | undefined>();
  const open = ofType('Task', rows).filter(
    (row) => ['waiting', 'offered', 'call'].includes(statusOfRow(row)) && row.status !== 'completed',
  );
  for (const tasks of chunks(open)) {
    const facts = await readFacts(medplum, tasks);
    for (const row of tasks) {
      const affected = affectedOf(row);
      const appointment = facts.appointments.get(affected?.appointment ?? '');
      const offered = facts.appointments.get(affected?.offer ?? '');
      const absence = selected.find((one) => `Task/${one.row.id}` === row.partOf?.[0]?.reference)?.absence;
      if (affected) {
        const together = facts.together(offered);
        const common = { appointment, offer: offered, together, slots: facts.slots, absent };
        const acting = { ...common, row, affected, absence, secrets };
        const state = { ...common, row: affected, rowStatus: statusOfRow(row) };
        const step = nextStep(state, Date.now(), config);
        if (step.do === 'tick') {
          ticked.add(row.id);
        }
        if (step.do !== 'nothing') {
          yield () => carryOutStep(medplum, acting, step);
        }
      }
    }
  }
  yield* closingActs(medplum, selected, whole, ticked);
}

/** The appointments of rows, the offers in their place with their visits (`together`), and the Slots of both. */
async function readFacts(medplum: MedplumClient, rows: readonly Task[]) {
  const affected = rows.flatMap((row) => affectedOf(row) ?? []);
  const ids = affected.flatMap(({ appointment, offer: offered }) => [appointment, ...(offered ? [offered] : [])]);
  const appointments = ofType('Appointment', await readByIds(medplum, 'Appointment', ids));
  const offers = appointments.filter(({ id }) => affected.some((one) => one.offer === id));
  const visits = await readVisits(medplum, offers);
  const slots = ofType(
    'Slot',
    await readByIds(medplum, 'Slot', unique([...appointments, ...visits].flatMap(slotIdsOf))),
  );
  return {
    appointments: new Map(appointments.map((appointment) => [appointment.id ?? '', appointment])),
    together: (appointment: Appointment | undefined): Appointment[] => {
      const what = appointment && offeredFor(appointment, config).join();
      const group = appointment && notifiedGroupOf(appointment, config);
      return visits.filter(
        (other) =>
          other.id !== appointment?.id &&
          notifiedGroupOf(other, config) === group &&
          offeredFor(other, config).join() === what,
      );
    },
    slots,
  };
}

/**
 * Closes the absences that are over and have no open rows.
 * @param whole - ids of the absences whose appointments all have rows
 * @param ticked - ids of rows whose people need no call any more: they count as closed, even if their write fails
 */
async function* closingActs(
  medplum: MedplumClient,
  absences: readonly { readonly row: Task; readonly absence: Absence }[],
  whole: ReadonlySet<string | undefined>,
  ticked: ReadonlySet<string | undefined>,
): AsyncGenerator<() => Promise<void>> {
  for (const { row, absence } of absences.filter((one) => whole.has(one.row.id))) {
    yield async () => {
      const now = Date.now();
      const [current, rows = []] = await readInTransaction(medplum, [
        `Task?_id=${row.id}`,
        `${affectedOfAbsence(row.id ?? '', config)}&status=requested,in-progress,ready&_count=1000`,
      ]);
      const [stored] = ofType('Task', current);
      const isOver = (await readAbsentOf(medplum, absence)).every((absent) => absent.end <= now);
      const left = ofType('Task', rows).filter(({ id, status }) => status !== 'ready' || ticked.has(id));
      if (stored?.status === 'in-progress' && isOver && left.length === 0) {
        await writeRows(medplum, [updateEntry(stored, { ...stored, status: 'completed' })], `Task/${row.id}`);
      }
    };
  }
}
