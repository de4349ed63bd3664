import type { MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, Slot, Task } from '@medplum/fhirtypes';
import { afterPatientChange } from '../../../core/booking/appointment/change.ts';
import {
  conflictEntries,
  conflictsOf,
  overlapEntries,
  yieldingAppointmentOf,
} from '../../../core/booking/appointment/collision.ts';
import { afterItsEnd } from '../../../core/booking/appointment/expiry.ts';
import { holdsSlots, isOpen, statusQuery } from '../../../core/booking/appointment/status.ts';
import { overlapOf, withExternalSlots } from '../../../core/booking/appointment/synchronize.ts';
import { taskEntries } from '../../../core/booking/jobs/confirmation-task.ts';
import { rowEntry } from '../../../core/calendar/publish/publication.ts';
import { parseInstant, timeOf } from '../../../core/fhir/instant.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { isResource, updateEntry } from '../../../core/fhir/resource.ts';
import { publishedKeyOf } from '../../../core/fhir/scheduling/slot-marks.ts';
import { slotIdsOf } from '../../../core/slots/slot.ts';
import { publicationEntry, publicationRow } from '../calendar/request.ts';
import { config } from '../config.ts';
import { type BundleResponse, sendTransaction, writeInTheEnd } from '../medplum.ts';
import { ofType, readInBatch, readSurvivors } from '../read.ts';
import { carryOut } from '../rows.ts';
import { followingEntries, readDependentAppointments } from '../visits/dependent-appointments.ts';
import { readAppointmentSlots, readVersions } from './appointment-slots.ts';
import { completeRelated, readRelatedAppointment } from './related-reads.ts';

/** The time of an appointment's only Slot before and after staff moved it. */
type SlotMove = Readonly<Record<'from' | 'to', Pick<Slot, 'start' | 'end'>>>;

/** Moves an appointment to the new time of its Slot if it still has the old one. */
function followed(stored: Appointment, slotMove: SlotMove | undefined): Appointment {
  const [time, from] = [timeOf(stored), timeOf(slotMove?.from)];
  const isThere = time !== undefined && time.start === from?.start && time.end === from.end;
  return slotMove && isThere ? { ...stored, start: slotMove.to.start, end: slotMove.to.end } : stored;
}

/** A deleted appointment holds no slots, like a cancelled one. */
const asCancelled = (deleted: Appointment): Appointment => ({ ...deleted, status: 'cancelled' });

const schedulesOf = (entries: readonly BundleEntry[]): string[] => [
  ...new Set(
    entries.flatMap(({ request, resource }) =>
      request?.method === 'POST' && isResource(resource, 'Slot') ? (idIn(resource.schedule, 'Schedule') ?? []) : [],
    ),
  ),
];

/** The Schedules of lost Slots that were published: publishing creates them again. */
const publishedIn = (lost: readonly Slot[]): string[] => [
  ...new Set(lost.flatMap((slot) => (publishedKeyOf(slot, config) ? (idIn(slot.schedule, 'Schedule') ?? []) : []))),
];

/**
 * Reads, decides and writes once; `unchanged` if there is nothing to write, `overtaken` if it must be decided again.
 * @param rows - the publication rows by Schedule id, for Schedules in which Slots will be created. They are read before
 *   the Slots: publishing may be about to create Slots at the same time, and writes these rows, too.
 */
async function syncOnce(
  medplum: MedplumClient,
  seen: Appointment,
  rows: ReadonlyMap<string, Task | undefined> = new Map(),
  slotMove?: SlotMove,
): Promise<BundleResponse['kind'] | 'unchanged'> {
  const found = await readRelatedAppointment(medplum, seen.id ?? '');
  const stored = found.appointment;
  const appointment = stored ? followed(stored, slotMove) : asCancelled(seen);
  const related = await completeRelated(medplum, appointment, found);
  const patients = await readSurvivors(medplum, related.patients);
  const current = afterPatientChange(appointment, patients, config);
  const now = Date.now();
  const changed = afterItsEnd(current, now, config);
  const slots = await readAppointmentSlots(medplum, changed, related, await readVersions(medplum, changed));
  // Slots that were booked or released for a newer version must not follow this one.
  if (slots.slots.length > 0 && slots.latest?.meta?.versionId !== stored?.meta?.versionId) {
    return 'overtaken';
  }
  // An appointment that was over before its deletion has released its slots: slots deleted after that stay deleted.
  const missing = stored || holdsSlots(seen) ? slots.lost : [];
  const [conflict] = conflictsOf(changed, slots.others, now, config);
  if (conflict && stored) {
    const yielding = yieldingAppointmentOf(changed, conflict, config);
    const shared = slots.slots.find(({ id = '' }) => [changed, conflict].every((one) => slotIdsOf(one).includes(id)));
    const { kind } = await sendTransaction(
      medplum,
      conflictEntries(yielding, yielding === conflict ? changed : conflict, shared, config),
    );
    // In both cases, its slots are read and checked again.
    return kind === 'done' ? 'overtaken' : kind;
  }
  const overlap = stored && overlapOf(changed, slots, config);
  if (overlap) {
    const { kind } = await sendTransaction(medplum, overlapEntries(changed, overlap, config));
    return kind === 'done' ? 'overtaken' : kind;
  }
  const answered = stored ? await answeredWith(medplum, changed) : [];
  const following = followingEntries(
    [changed, ...answered.map(({ result }) => result)],
    [{ ...slots, lost: missing }, ...answered.map((one) => one.slots)],
  );
  const created = schedulesOf(following);
  const unpublished = publishedIn(holdsSlots(changed) ? [] : missing).filter((id) => !created.includes(id));
  const concerned = [...created, ...unpublished];
  if (!concerned.every((id) => rows.has(id))) {
    const read = concerned.map(async (id) => [id, await publicationRow(medplum, id)] as const);
    return syncOnce(medplum, seen, new Map([...rows, ...(await Promise.all(read))]), slotMove);
  }
  // Slots that were published before the buffers were removed lack the time that the buffers release.
  const since = (following.length === 0 && parseInstant(stored?.meta?.lastUpdated)) || Number.POSITIVE_INFINITY;
  const held = withExternalSlots(changed, following, slots, config);
  const entry = [
    ...(stored && held !== stored ? [updateEntry(stored, held)] : []),
    ...answered.map(({ one, result }) => updateEntry(one.appointment, result)),
    ...following,
    ...taskEntries(changed, found.tasks, now, config),
    ...answered.flatMap(({ one, result }) => taskEntries(result, one.tasks, now, config)),
    ...created.flatMap((id) => rows.get(id) ?? []).map((row) => rowEntry(row, now, config)),
    ...unpublished.flatMap((id) => publicationEntry(id, rows.get(id), since)),
  ];
  return entry.length > 0 ? (await sendTransaction(medplum, entry)).kind : 'unchanged';
}

/**
 * Updates an appointment, its slots and its Task to match its status, its patients and, for a hold or a request, its
 * end. The result depends only on stored resources, not on the change that started the run: repeating a run is safe.
 * @param seen - the appointment as it was reported; unless it is deleted, only its id counts
 * @param slotMove - the move of its only Slot by staff, which the appointment follows
 * @throws Error when the server could not be reached, refuses the result, or conflicts with other requests persist
 * @see specification section 3
 */
export async function syncAppointment(medplum: MedplumClient, seen: Appointment, slotMove?: SlotMove): Promise<void> {
  await writeInTheEnd(() => syncOnce(medplum, seen, undefined, slotMove), `The slots of Appointment/${seen.id}`);
}

/**
 * The pending appointments of a visit get the status of the one that the clinic has confirmed or refused. They are
 * written in the transaction that updates its slots, so that no reader sees a half-confirmed visit.
 */
async function answeredWith(medplum: MedplumClient, { status, cancelationReason, ...one }: Appointment) {
  const isAnswered = status === 'booked' || status === 'cancelled';
  const found = isAnswered ? await readDependentAppointments(medplum, { status, ...one }) : [];
  return Promise.all(
    found
      .filter(({ appointment }) => appointment.status === 'pending')
      .map(async (dependent) => {
        const result = { ...dependent.appointment, status, ...(cancelationReason && { cancelationReason }) };
        return { one: dependent, result, slots: await readAppointmentSlots(medplum, result, dependent) };
      }),
  );
}

/** Cancels or transfers the open appointments of patients, as each requires. A failure does not stop the others. */
export async function syncAppointmentsOfPatients(medplum: MedplumClient, ids: readonly string[]): Promise<void> {
  const actor = ids.map((id) => `Patient/${id}`).join(',');
  const query = new URLSearchParams({ actor, status: statusQuery(isOpen), _count: '1000' });
  const [found] = await readInBatch(medplum, [`Appointment?${query}`]);
  const acts = ofType('Appointment', found).map((appointment) => () => syncAppointment(medplum, appointment));
  await carryOut(acts, Number.POSITIVE_INFINITY);
}
