import { setTimeout } from 'node:timers/promises';
import type { MedplumClient } from '@medplum/core';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { hasEnded } from '../../../core/booking/appointment/expiry.ts';
import { hasOtherTime, holdersUrl } from '../../../core/booking/appointment/held.ts';
import { holderSearch } from '../../../core/booking/appointment/reads.ts';
import { takesTime } from '../../../core/booking/appointment/synchronize.ts';
import { rowEntry, windowsFrom } from '../../../core/calendar/publish/publication.ts';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { isTaken } from '../../../core/slots/slot.ts';
import { type Interval, union } from '../../../core/time/interval.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { collisionSearches, resolveCollisions } from '../booking/collisions.ts';
import { syncAppointment } from '../booking/slot-sync.ts';
import { config } from '../config.ts';
import { retryOvertaken, writeUnlessOvertaken } from '../medplum.ts';
import { ofType, readAhead, readInBatch, readInTransaction } from '../read.ts';
import { RUN_LIMIT } from '../rows.ts';
import { goneHours, hoursSearches, readOpeningHours } from './opening-hours.ts';
import { ensureRow, requestPublication } from './request.ts';
import { publishWindow, slotsUrl, type WindowResult } from './window.ts';

/** For a period longer than this, in milliseconds, the whole calendar is published. */
const LONG = 14 * DAY;

const historyOf = ({ id }: Slot): string => `Slot/${id}/_history?_count=5`;

/** The times of versions of a Slot with a day of margin. */
const timesAround = (versions: readonly Slot[]): readonly Interval[] =>
  union(
    versions.flatMap((version) => {
      const [start, end] = [parseInstant(version.start), parseInstant(version.end)];
      return start === undefined || end === undefined ? [] : [{ start: start - DAY, end: end + DAY }];
    }),
  );

/** Reads the times of a Slot in its latest versions: time that it no longer covers is free again. */
async function timesOf(medplum: MedplumClient, slot: Slot): Promise<readonly Interval[]> {
  const [found] = await readInBatch(medplum, [historyOf(slot)]);
  return timesAround([slot, ...ofType('Slot', found)]);
}

const isLong = (windows: readonly Interval[]): boolean => windows.some(({ start, end }) => end - start > LONG);

/** Restores a deleted Slot under its id. */
async function restoreSlot(medplum: MedplumClient, { meta: { tag, profile } = {}, ...slot }: Slot): Promise<void> {
  const resource: Slot = { ...slot, meta: { ...(tag && { tag }), ...(profile && { profile }) } };
  const entry = [{ request: { method: 'PUT' as const, url: `Slot/${slot.id}` }, resource }];
  await writeUnlessOvertaken(medplum, entry, `Slot/${slot.id}`);
}

/** The search for appointments that may still hold a deleted or free Slot. */
const formerHolders = (slot: Slot, isDeleted: boolean): string[] =>
  isDeleted || slot.status === 'free' ? [holdersUrl(slot.id ?? '')] : [];

/**
 * Makes a Slot busy again that was deleted or set free although an appointment holds it.
 * @returns whether an appointment holds it
 */
async function makeBusyAgain(medplum: MedplumClient, slot: Slot, isDeleted: boolean): Promise<boolean> {
  const [found] = await readInBatch(medplum, formerHolders(slot, isDeleted));
  const holders = ofType('Appointment', found);
  const isGone = isDeleted && !ofType('Slot', found).some(({ id }) => id === slot.id);
  if (isGone && holders.some((one) => !hasEnded(one, Date.now(), config))) {
    await restoreSlot(medplum, slot);
  }
  for (const appointment of holders) {
    await syncAppointment(medplum, appointment);
  }
  return holders.length > 0;
}

/**
 * Moves the appointment that alone holds a busy Slot to the new time of the Slot, if staff have moved the Slot.
 * @returns whether an appointment was moved
 */
async function moveHolder(medplum: MedplumClient, slot: Slot): Promise<boolean> {
  if (!isTaken(slot)) {
    return false;
  }
  const [holders, versions] = await readInBatch(medplum, [holderSearch([slot.id ?? '']), historyOf(slot)]);
  const [current, ...earlier] = ofType('Slot', versions);
  const before = current && earlier.find((one) => hasOtherTime(current, one));
  const [holder, ...others] = ofType('Appointment', holders).filter((appointment) => takesTime(appointment));
  const isFollowing = before && holder && others.length === 0 && !hasOtherTime(asSlot(holder, before), before);
  if (isFollowing) {
    await syncAppointment(medplum, holder, { from: before, to: current });
  }
  return isFollowing ?? false;
}

const asSlot = ({ start = '', end = '' }: Appointment, slot: Slot): Slot => ({ ...slot, start, end });

/**
 * Publishes the time around a Slot that became busy or free. New Slots are written together with the publication row.
 */
async function publishAround(medplum: MedplumClient, slot: Slot, id: string): Promise<void> {
  const windows = (await timesOf(medplum, slot)).filter(({ end }) => end > Date.now());
  if (windows.length === 0) {
    return;
  }
  if (isLong(windows)) {
    await requestPublication(medplum, id);
    return;
  }
  const along = windows.flatMap(({ start, end }) => windowsFrom(start, end, undefined)).slice(0, 1);
  const urls = along.map((window) => slotsUrl(id, window));
  const read = await readOpeningHours(medplum, id, slot.serviceType, urls);
  const { hours = goneHours(id), reader } = read;
  let isFirst = true;
  for (const window of windows.flatMap(({ start, end }) => windowsFrom(start, end, hours.publishing))) {
    const attempt = async () => {
      const row = isFirst ? read.row : await ensureRow(medplum, id);
      isFirst = false;
      const lock = (isCreating: boolean) => (isCreating ? row && [rowEntry(row, Date.now(), config)] : []);
      return publishWindow(reader, hours, window, { row: lock });
    };
    const isOvertaken = ({ kind }: WindowResult): boolean => kind === 'overtaken';
    const { kind, problems } = await retryOvertaken(attempt, isOvertaken, { within: RUN_LIMIT });
    if (kind !== 'published') {
      const reasons = kind === 'refused' ? problems.map(({ diagnostics }) => diagnostics) : [];
      throw new Error([`The Slots of Schedule/${id} could not be written (${kind}).`, ...reasons].join(' '));
    }
  }
}

/** Pauses between the checks whether the transaction that deletes a Slot is committed, in milliseconds. */
const PAUSES = [50, 100, 200, 400, 800, 1_500, 1_500];

/**
 * Whether a Slot is deleted: Medplum starts the job before the transaction is committed, and even if it is rolled back.
 */
async function isGone(medplum: MedplumClient, { id }: Slot): Promise<boolean> {
  for (const pause of [0, ...PAUSES]) {
    await (pause > 0 && setTimeout(pause));
    const [found] = await readInTransaction(medplum, [`Slot?_id=${id}&_fields=id`]);
    if (found?.length === 0) {
      return true;
    }
  }
  return false;
}

/** Publishes again if the Slot was released in the meantime: the job of that change may have run first. */
async function publishAgain(medplum: MedplumClient, slot: Slot, id: string): Promise<void> {
  const [found] = await readInTransaction(medplum, [`Slot?_id=${slot.id}`]);
  const [current] = ofType('Slot', found);
  await (!(current && isTaken(current)) && publishAround(medplum, slot, id));
}

/** The searches of `slotChanged` that are known before the first read. */
function searchesFor(slot: Slot, id: string | undefined, isDeleted: boolean): string[] {
  const windows = timesAround([slot]);
  return [
    ...formerHolders(slot, isDeleted),
    ...(isTaken(slot) && !isDeleted ? collisionSearches(slot) : []),
    ...(id === undefined
      ? []
      : [
          historyOf(slot),
          ...hoursSearches(id, slot.serviceType),
          ...(isLong(windows) ? [] : windows)
            .flatMap(({ start, end }) => windowsFrom(start, end, undefined))
            .map((window) => slotsUrl(id, window)),
        ]),
  ];
}

/**
 * Resolves the collisions of a changed Slot and updates the published Slots around it. Medplum reports a change only
 * once: if publishing fails, the publication of the whole calendar is requested. The usual searches are read ahead;
 * after the first write, they are read again.
 * @throws Error with the messages of all failed steps
 */
export async function slotChanged(client: MedplumClient, slot: Slot, isDeleted: boolean): Promise<void> {
  const id = idIn(slot.schedule, 'Schedule');
  const failures: unknown[] = [];
  if (isDeleted && !(await isGone(client, slot))) {
    return;
  }
  let medplum = await readAhead(client, searchesFor(slot, id, isDeleted));
  const run = async (step: (reader: MedplumClient) => Promise<boolean>): Promise<void> => {
    const hasActed = await step(medplum).catch((reason: unknown) => failures.push(reason) > 0);
    medplum = hasActed ? client : medplum;
  };
  await run((reader) => makeBusyAgain(reader, slot, isDeleted));
  await (isDeleted || run((reader) => moveHolder(reader, slot)));
  await run((reader) => resolveCollisions(reader, slot));
  if (id !== undefined) {
    await publishAround(medplum, slot, id)
      .then(() => (isTaken(slot) && !isDeleted ? publishAgain(client, slot, id) : undefined))
      .catch(async (reason: unknown) => {
        failures.push(reason);
        await requestPublication(medplum, id);
      });
  }
  if (failures.length > 0) {
    throw new Error(failures.map(String).join('\n'));
  }
}
