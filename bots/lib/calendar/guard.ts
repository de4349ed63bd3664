import type { BotEvent, MedplumClient } from '@medplum/core';
import type { BundleEntry, Resource, Slot, Task } from '@medplum/fhirtypes';
import { hasEnded } from '../../../core/booking/appointment/expiry.ts';
import { atTime, holderSearch, holdersOf } from '../../../core/booking/appointment/reads.ts';
import { publicationOf, reservationEntry } from '../../../core/calendar/publish/publication.ts';
import { parseInstant, timeOf } from '../../../core/fhir/instant.ts';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { isOverbooking } from '../../../core/fhir/scheduling/slot-marks.ts';
import { searchUrl } from '../../../core/rows/search.ts';
import { touchEntry } from '../../../core/slots/entries.ts';
import { type ExternalSlot, excludes, planExternalSlot, withLane } from '../../../core/slots/guard.ts';
import {
  type Act,
  isOfAppointment,
  isSameAct,
  lateAppointments,
  RESERVED_FOR,
  type Reservation,
  reservationsIn,
  reservationsOf,
  reservedSlots,
} from '../../../core/slots/reservation.ts';
import { type Calendar, type CalendarSlot, calendarOf, isTaken } from '../../../core/slots/slot.ts';
import { neededBuffers, reachOf, termsFor, withBuffers } from '../../../core/slots/terms.ts';
import { contains, type Interval, overlaps } from '../../../core/time/interval.ts';
import { config } from '../config.ts';
import { retryOvertaken, writeUnlessOvertaken } from '../medplum.ts';
import { ofType, readAhead, readInBatch, readInTransaction, readOpenTimes } from '../read.ts';
import { hoursSearches, type KeyedHours, readOpeningHours } from './opening-hours.ts';
import { ensureRow } from './request.ts';

/**
 * Maximum number of Slots that are read, and of excluded bookable Slots that are written. The other Slots of a block of
 * many weeks follow within seconds.
 */
const [MAX, MAX_TOUCHED] = ['1000', 500];

/** Margin around an external busy slot that is read before the buffers of the services are known, in milliseconds. */
const REACH = 2 * 60 * 60_000;

/** How long a guard waits for reservations of others, in milliseconds: after that they no longer count. */
const PATIENCE = RESERVED_FOR + 500;

type Reserved =
  /** `lane` is that of the first slot, if it has one. */
  | { readonly kind: 'reserved'; readonly lane?: string | undefined }
  | { readonly kind: 'taken'; readonly by: CalendarSlot; readonly from: CalendarSlot }
  /** Somebody else has reserved the time, or other requests wrote the same Slots at each attempt. */
  | { readonly kind: 'overtaken' }
  /** An appointment excludes more bookable Slots than can be written together. */
  | { readonly kind: 'too-long' };

/** Whether a pre-commit Bot is asked about a deletion, not about a change. */
export const isDeletion = ({ headers }: Pick<BotEvent, 'headers'>): boolean =>
  headers?.['X-Medplum-Deleted-Resource'] !== undefined;

/** The refusal of a write that others have overtaken. */
export const contested = (expression: 'Slot' | 'Appointment.slot'): Issue => ({
  code: 'booking-conflict',
  diagnostics: 'Other requests booked this time at the same moment. Nothing was written; try again.',
  expression,
});

/** Returns the calendar with the Slots of ended holds and requests as free. */
async function withoutEnded(medplum: MedplumClient, calendar: Calendar): Promise<Calendar> {
  const tentative = [...calendar.values()].filter(({ status }) => status === 'busy-tentative');
  const ids = tentative.map(({ id }) => id);
  const [found] = await readInBatch(medplum, ids.length > 0 ? [holderSearch(ids)] : []);
  const holders = holdersOf(ofType('Appointment', found));
  const isOver = ({ id }: CalendarSlot): boolean =>
    holders.get(id)?.every((appointment) => hasEnded(appointment, Date.now(), config)) ?? false;
  const ended = tentative.filter(isOver).map((slot) => [slot.id, { ...slot, status: 'free' as const }] as const);
  return new Map([...calendar, ...ended]);
}

const slotsNear = (schedule: string, { start, end }: Interval, reach: number): string =>
  searchUrl('Slot', [
    ['schedule', `Schedule/${schedule}`],
    ...atTime({ start: start - reach, end: end + reach }),
    ['_sort', 'start'],
    ['_count', MAX],
  ]);

/** The search for the Slots of a Schedule within two hours of a Slot. */
export const aroundUrl = (schedule: string, { start, end }: Slot): string =>
  slotsNear(schedule, { start: parseInstant(start) ?? 0, end: parseInstant(end) ?? 0 }, REACH);

/** The lane of an external busy slot; for a stored bookable Slot without one, the id of the Slot. */
const laneSlotIdOf = ({ from, laneSlotId }: ExternalSlot): string | undefined =>
  laneSlotId ?? (from.role === 'bookable' && !from.isNew ? from.id : undefined);

/** Whether time is already reserved: by the appointment on the Slot, or by an earlier attempt of Medplum. */
const isCovered = (external: ExternalSlot, reservations: readonly Reservation[]): boolean =>
  reservations
    .filter((reservation) => contains(reservation, external))
    .some(({ laneSlotId }) => laneSlotId === undefined || laneSlotId === laneSlotIdOf(external));

/** Returns the first conflict with a hold or a personal offer, which no new Slot may overlap. */
async function conflictWithHold(
  medplum: MedplumClient,
  externals: readonly ExternalSlot[],
  calendar: Calendar,
  own: ReadonlySet<string>,
): Promise<Reserved | undefined> {
  const found = externals
    .filter(({ against }) => against === 'reservations')
    .flatMap((external) =>
      [...calendar.values()]
        .filter((slot) => slot.status === 'busy-tentative' && !own.has(slot.id))
        .filter((slot) => overlaps(slot, external) && excludes(external.from, slot))
        .map((by) => ({ kind: 'taken' as const, by, from: external.from })),
    );
  const [holders] = await readInBatch(medplum, found.length > 0 ? [holderSearch(found.map(({ by }) => by.id))] : []);
  const holds = holdersOf(
    ofType('Appointment', holders).filter(
      (appointment) => appointment.status === 'proposed' && !hasEnded(appointment, Date.now(), config),
    ),
  );
  return found.find(({ by }) => holds.has(by.id));
}

/** Decides once from the resources that were read (`found`), and writes the reservations. Creates a missing row. */
async function reserveOnce(
  medplum: MedplumClient,
  hours: KeyedHours,
  wanted: readonly ExternalSlot[],
  act: Act,
  found: readonly Resource[],
): Promise<Reserved> {
  const schedule = hours.schedule.id;
  const now = Date.now();
  const calendar = calendarOf(ofType('Slot', found), config);
  const [row] = ofType('Task', found);
  const allReservations = reservationsIn(row, now, config);
  const others = allReservations.filter((reservation) => !isSameAct(reservation, act));
  const late = lateAppointments(others, wanted, now);
  const reserved = reservedSlots(schedule, others, { calendar, now, openTimes: await readOpenTimes(medplum, late) });
  const reservedLanes = new Map(
    allReservations
      .filter((reservation) => reservation.author === act.author && !isOfAppointment(reservation))
      .flatMap(({ slots: [id], laneSlotId }) => (id && laneSlotId ? [[id, laneSlotId] as const] : [])),
  );
  const externals = wanted
    .map((externalSlot) =>
      externalSlot.types
        ? {
            ...externalSlot,
            ...withBuffers(externalSlot, neededBuffers(hours, externalSlot.from, externalSlot.types, config)),
          }
        : externalSlot,
    )
    .map((externalSlot) => withLane(externalSlot, calendar, reserved, reservedLanes));
  // A Slot is not checked against the reservation of its own appointment: the appointment checks its Slots.
  const ownReservations = allReservations.filter(
    (reservation) =>
      now < reservation.until &&
      (reservation.id === act.id || (isOfAppointment(reservation) && isSameAct(reservation, act))),
  );
  const uncovered = externals.filter((external) => !isCovered(external, ownReservations));
  const done: Reserved = { kind: 'reserved', lane: externals[0]?.from.lane };
  if (uncovered.length === 0) {
    return done;
  }
  if (!row) {
    await ensureRow(medplum, schedule);
    return { kind: 'overtaken' };
  }
  // A bookable Slot that was deleted in the meantime can no longer be booked.
  if (uncovered.some(({ from }) => !from.isNew && !calendar.has(from.id))) {
    return { kind: 'overtaken' };
  }
  const termsOf = termsFor([hours], config);
  const ids = new Set(act.slots);
  const planned = (among: Calendar) =>
    uncovered.map((external) => ({ taking: external, ...planExternalSlot(external, among, ids, termsOf, config) }));
  let plans = planned(calendar);
  if (plans.some(({ conflict }) => conflict?.status === 'busy-tentative')) {
    plans = planned(await withoutEnded(medplum, calendar));
  }
  for (const { conflict, taking } of plans) {
    if (conflict) {
      return { kind: 'taken', by: conflict, from: taking.from };
    }
  }
  const held = await conflictWithHold(medplum, uncovered, calendar, ids);
  if (held) {
    return held;
  }
  const excluded = [...new Map(plans.flatMap((one) => one.excluded).map((slot) => [slot.id, slot])).values()];
  if (uncovered.some(({ against }) => against === 'everything') && excluded.length > MAX_TOUCHED) {
    return { kind: 'too-long' };
  }
  const isContested = (external: ExternalSlot): boolean =>
    external.against !== 'nothing' &&
    reserved.some((slot) => overlaps(slot, external) && excludes(external.from, slot));
  if (uncovered.some(isContested)) {
    return { kind: 'overtaken' };
  }
  // Slots that the author is about to write are skipped: the transaction that is being checked may have locked them.
  const authored = new Set(
    allReservations
      .filter((reservation) => now < reservation.until && reservation.author === act.author)
      .flatMap(({ slots }) => slots),
  );
  const touched = excluded.filter(({ id }) => !authored.has(id)).slice(0, MAX_TOUCHED);
  const reservations = externals.map((external): Reservation => {
    const { start, end, from } = external;
    const overbooks = isOverbooking(from.resource, config);
    return { start, end, ...act, laneSlotId: laneSlotIdOf(external), overbooks, until: now + RESERVED_FOR };
  });
  const kept = allReservations.filter((reservation) => reservation.id !== act.id);
  const entry = [
    ...touched.map((slot) => touchEntry(slot, config)),
    reservationEntry(row, [...kept, ...reservations], config),
  ];
  const written = await writeUnlessOvertaken(medplum, entry, `The Slots of Schedule/${schedule}`);
  return written ? done : { kind: 'overtaken' };
}

/**
 * The first searches of `reserve`, to be read ahead. If they do not find the services, the Slots are read again
 * together with these: a change between the read and the write makes the attempt fail.
 * @param schedule - id
 * @param named - the known services of the Schedule
 */
export const reservationSearches = (schedule: string, time: Interval, named: Slot['serviceType']): string[] => [
  slotsNear(schedule, time, REACH),
  ...hoursSearches(schedule, named),
];

/**
 * Reserves time of a Schedule that somebody is about to make busy directly in Medplum. The reservation is written to
 * the publication row, and every excluded bookable Slot gets a new version in the same transaction. A booking that read
 * before fails; one that reads later sees the reservation.
 * @param schedule - id; a Schedule that does not exist has nothing to reserve: the result is `reserved`
 * @param named - as in `reservationSearches`
 * @throws Error when the calendar could not be read or written
 */
export async function reserve(
  medplum: MedplumClient,
  schedule: string,
  externals: readonly ExternalSlot[],
  act: Act,
  named: Slot['serviceType'],
): Promise<Reserved> {
  const time = {
    start: Math.min(...externals.map(({ start }) => start)),
    end: Math.max(...externals.map(({ end }) => end)),
  };
  const first = await readAhead(medplum, reservationSearches(schedule, time, named));
  const near = slotsNear(schedule, time, REACH);
  const { hours, row, reader } = await readOpeningHours(first, schedule, named, [near]);
  if (!hours) {
    return { kind: 'reserved' };
  }
  const reach = Math.max(REACH, reachOf([hours], config));
  let known: readonly Task[] | undefined = row ? [row] : [];
  return retryOvertaken(
    async () => {
      const rows = known ? [] : [publicationOf(schedule, config)];
      const found = await readInTransaction(reader, [slotsNear(schedule, time, reach), ...rows]);
      const resources = [...(known ?? []), ...found.flat()];
      known = undefined;
      return reserveOnce(medplum, hours, externals, act, resources);
    },
    ({ kind }) => kind === 'overtaken',
    { within: PATIENCE },
  );
}

/**
 * Withdraws reservations: the write that they were made for was refused, or is stored and about to change.
 * @param isMeant - selects the reservations; by default all of the act
 * @throws Error when the rows could not be read or written
 */
export async function withdraw(
  medplum: MedplumClient,
  act: Act,
  isMeant: (reservation: Reservation) => boolean = (reservation) => isSameAct(reservation, act),
): Promise<void> {
  await retryOvertaken(
    async () => {
      const [found] = await readInTransaction(medplum, [reservationsOf(act, config)]);
      const entries = ofType('Task', found).flatMap((row): BundleEntry[] => {
        const reservations = reservationsIn(row, Date.now(), config);
        const kept = reservations.filter((reservation) => !isMeant(reservation));
        return reservations.some((one) => isMeant(one) && (isOfAppointment(one) || Date.now() < one.until))
          ? [reservationEntry(row, kept, config)]
          : [];
      });
      const written = entries.length === 0 || (await writeUnlessOvertaken(medplum, entries, `The rows of ${act.id}`));
      return written !== undefined;
    },
    (isDone) => !isDone,
  );
}

/** Maximum age of a stored resource that may still have a reservation, in milliseconds: clocks may differ. */
const YOUNG = 120_000;

export const mayBeReserved = ({ meta }: Resource): boolean =>
  Date.now() - (parseInstant(meta?.lastUpdated) ?? 0) < YOUNG;

/** The busy time of a Slot and the id of its Schedule; `undefined` if the Slot is not busy. */
export function takenTime(slot: Slot): (Interval & { readonly schedule: string }) | undefined {
  const [schedule, time] = [idIn(slot.schedule, 'Schedule'), timeOf(slot)];
  return isTaken(slot) && schedule !== undefined && time ? { schedule, ...time } : undefined;
}
