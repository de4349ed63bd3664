import type { MedplumClient } from '@medplum/core';
import type { Appointment, Patient, Resource, Slot } from '@medplum/fhirtypes';
import { withOwners } from '../../core/booking/appointment/encounter-owner.ts';
import { hasEnded, isWaiting } from '../../core/booking/appointment/expiry.ts';
import { atTime } from '../../core/booking/appointment/reads.ts';
import { holdsSlots } from '../../core/booking/appointment/status.ts';
import { isOutOfSync } from '../../core/booking/appointment/synchronize.ts';
import { isOpenTask } from '../../core/booking/jobs/confirmation-task.ts';
import { isActivePatient } from '../../core/booking/patients/identity.ts';
import { publicationIn } from '../../core/calendar/publish/publication.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { isByService, ownerOf } from '../../core/fhir/tags.ts';
import { OVERLAP } from '../../core/notifications/delivery/retention.ts';
import { isRow } from '../../core/rows/row.ts';
import { searchUrl } from '../../core/rows/search.ts';
import { type CalendarSlot, calendarOf, isTaken, slotIdsOf, takesTimeOf } from '../../core/slots/slot.ts';
import { shareEncounter } from '../lib/booking/encounter-owner.ts';
import { followPatient } from '../lib/booking/follow-patient.ts';
import { syncAppointment, syncAppointmentsOfPatients } from '../lib/booking/slot-sync.ts';
import { publicationRow } from '../lib/calendar/request.ts';
import { slotChanged } from '../lib/calendar/slot-changed.ts';
import { config } from '../lib/config.ts';
import { ofType, readInBatch, readInTransaction, readPages } from '../lib/read.ts';
import { carryOut, checkpointSearch, moveCheckpoint, RUN_LIMIT, reachedIn } from '../lib/rows.ts';

/** How far the first run looks back, and how long failures are retried, in ms: `npm run check:consistency` finds more. */
const HORIZON = 60 * 60_000;

/** Progress after which the checkpoint is written, in milliseconds. */
const STEP = 5 * 60_000;

/** Page size of recent changes: with their slots they must stay under Medplum's limit of 1000. */
const PAGE = 100;

/** Age at which the job of a change counts as lost, in milliseconds: the next run sees younger changes. */
const LATE = 30_000;

/** The Slots written by others that are not over, and whose job, if they have one, is late. */
function writtenByOthers(slots: readonly Slot[]): CalendarSlot[] {
  const now = Date.now();
  const isLate = (slot: Slot): boolean => now - changedAt(slot) >= LATE;
  const found = slots.filter((slot) => !isByService(slot.meta, config) && isLate(slot));
  return [...calendarOf(found, config).values()].filter(({ end }) => end > now);
}

const changedAt = ({ meta }: Resource): number => Date.parse(meta?.lastUpdated ?? '');

/** Whether staff wrote an open appointment last and its job is late: a move may have left its former Slots busy. */
const isOfStaff = (appointment: Appointment): boolean =>
  holdsSlots(appointment) && !isByService(appointment.meta, config) && Date.now() - changedAt(appointment) >= LATE;

const TAKEN = 'busy,busy-tentative,busy-unavailable';

/** The search for free Slots at the time of a busy Slot, or for busy ones at the time of a free Slot; at most 50. */
const othersAt = (slot: CalendarSlot): string =>
  searchUrl('Slot', [
    ['schedule', `Schedule/${slot.schedule}`],
    ['status', isTaken(slot) ? 'free' : TAKEN],
    ...atTime(slot),
    ['_count', '50'],
  ]);

/**
 * Publishes around free Slots on busy time, and around busy Slots on free time. If publishing of the whole calendar has
 * begun since a Slot was written, the Slot is skipped: that must not begin again.
 */
async function followSlots(medplum: MedplumClient, written: readonly CalendarSlot[], end: number): Promise<void> {
  const found = await readInBatch(medplum, written.map(othersAt));
  const others = found.map((slots) => [...calendarOf(ofType('Slot', slots), config).values()]);
  const isAgainst = (slot: CalendarSlot, other: CalendarSlot): boolean =>
    isTaken(slot) ? takesTimeOf(slot, other) : takesTimeOf(other, slot);
  const offered = written.filter((slot, index) => others[index]?.some((other) => isAgainst(slot, other)));
  const follow = async ({ schedule, resource }: CalendarSlot): Promise<void> => {
    const row = await publicationRow(medplum, schedule);
    const began = (row && publicationIn(row)?.began) ?? 0;
    await (began < changedAt(resource) && slotChanged(medplum, resource, false));
  };
  await carryOut(
    offered.map((taken) => () => follow(taken)),
    end,
  );
}

/**
 * Returns the acts that repair one page of recent changes.
 * @param holders - extended here; from earlier pages: the appointment of each Slot id, the new patient of each identifier
 */
function repairsFor(
  medplum: MedplumClient,
  [changed, patientsFound, encountersFound, deleted]: readonly Resource[][],
  holders: Map<string, string | undefined>,
): (() => Promise<void>)[] {
  const [appointments, patients] = [ofType('Appointment', changed), ofType('Patient', patientsFound)];
  /** Whether an appointment of this or an earlier page holds one of its Slots: the job of the later one resolves it. */
  const hasConflict = (appointment: Appointment): boolean => {
    const heldSlots = holdsSlots(appointment) ? slotIdsOf(appointment) : [];
    const slotsOfOthers = heldSlots.filter((slot) => (holders.get(slot) ?? appointment.id) !== appointment.id);
    for (const slot of heldSlots.filter((id) => !slotsOfOthers.includes(id))) {
      holders.set(slot, appointment.id);
    }
    return slotsOfOthers.length > 0;
  };
  const encounters = ofType('Encounter', encountersFound);
  const visitAppointments = ofType('Appointment', encountersFound);
  const untagged = encounters.filter((encounter) => withOwners(encounter, visitAppointments, config) !== encounter);
  const slots = new Map(ofType('Slot', changed).map((slot) => [slot.id ?? '', slot]));
  const waiting = new Set(
    ofType('Task', changed).flatMap((task) =>
      isRow(task, ['confirm'], config) && isOpenTask(task) ? (task.focus?.reference ?? []) : [],
    ),
  );
  const outOfSync = appointments.filter(
    (appointment) =>
      hasConflict(appointment) ||
      isOfStaff(appointment) ||
      isOutOfSync(appointment, slots, Date.now(), config) ||
      (waiting.has(`Appointment/${appointment.id}`) && !isWaiting('request', appointment, config)),
  );
  /** Whether another patient of the portal has the same identifier: simultaneous bookings may have created both. */
  const isDuplicate = (patient: Patient): boolean =>
    isByService(patient.meta, config) &&
    (patient.identifier ?? []).some(({ system, value }) => {
      const key = JSON.stringify([ownerOf(patient, config), system, value]);
      const firstPatient = holders.get(key) ?? patient.id;
      holders.set(key, firstPatient);
      return firstPatient !== patient.id;
    });
  const inactive = patients.filter((patient) => !isActivePatient(patient));
  const gone = [...inactive, ...ofType('Patient', deleted)].flatMap(({ id }) => id ?? []);
  const duplicates = patients.filter((patient) => isActivePatient(patient) && isDuplicate(patient));
  return [
    ...outOfSync.map((appointment) => () => syncAppointment(medplum, appointment)),
    ...(gone.length > 0 ? [() => syncAppointmentsOfPatients(medplum, gone)] : []),
    ...duplicates.map(
      ({ id = '' }) =>
        () =>
          followPatient(medplum, id),
    ),
    ...untagged.map(
      ({ id }) =>
        () =>
          shareEncounter(medplum, id ?? ''),
    ),
  ];
}

/** The moment up to which all changes have been read: the last change of a full page, or now if no page is full. */
function readUpTo(pages: readonly Resource[][], now: number): number {
  const types = ['Appointment', 'Patient', 'Encounter', 'Patient', 'Slot', 'Slot'] as const;
  const results = pages.map((page, index) => page.filter(({ resourceType }) => resourceType === types[index]));
  const ends = results.flatMap((page) =>
    page.length < PAGE ? [] : [Date.parse(page.at(-1)?.meta?.lastUpdated ?? '')],
  );
  return Math.min(now, ...ends);
}

/**
 * Runs every minute. Ends holds and requests that are over, and repeats lost jobs of `sync-slots`, `publish-slots`,
 * `handle-patient-change` and `tag-encounter` for all changes since its last run. Medplum does not rerun a failed Bot,
 * and a job may be lost with its server.
 * @throws Error when Medplum does not answer, or something could not be corrected; the next run tries again
 */
export async function handler(medplum: MedplumClient): Promise<void> {
  const start = Date.now();
  const end = start + RUN_LIMIT;
  const [rows] = await readInTransaction(medplum, [checkpointSearch('reconcile')]);
  const [row] = ofType('Task', rows);
  const stored = reachedIn(row) ?? start - HORIZON;
  // The clock of the last run may have been ahead.
  const before = Math.min(stored, start);
  let reached = before;
  /** The moment up to which changes were read, even if some could not be repaired. */
  let tried = before;
  let isWhole = true;
  // Writes by others cost a search each time, so they are read only once.
  let step = STEP;
  async function* acts() {
    // Holds and requests that are over. Their time counts as free already; here they are only tidied up. Requests are
    // usually ended through their Tasks (`end-requests`): these are the ones whose Task was closed or deleted.
    const waiting = ['proposed', 'pending'].map((status) => `Appointment?status=${status}`);
    for await (const pages of readPages(medplum, waiting, { end: start + RUN_LIMIT / 2 })) {
      const ended = ofType('Appointment', pages.flat()).filter((appointment) => hasEnded(appointment, start, config));
      yield* ended.map((appointment) => () => syncAppointment(medplum, appointment));
    }
    const lately = `_lastUpdated=ge${formatInstant(before - OVERLAP)}`;
    const holders = new Map<string, string | undefined>();
    const failed = (error: unknown): never => {
      isWhole = false;
      throw error;
    };
    const searches = [
      `Appointment?${lately}&_include=Appointment:slot&_revinclude=Task:focus`,
      `Patient?${lately}`,
      `Encounter?${lately}&_include=Encounter:appointment`,
      `Patient?${lately}&_deleted=true`,
      `Slot?_lastUpdated=ge${formatInstant(before - LATE)}&status=${TAKEN}`,
      // New free Slots start no Bot. Of the service's own, which are many, each has an identifier.
      `Slot?_lastUpdated=ge${formatInstant(before - LATE)}&status=free&identifier:missing=true`,
    ];
    for await (const pages of readPages(medplum, searches, { count: PAGE, end })) {
      const written = writtenByOthers(ofType('Slot', pages.slice(-2).flat()));
      const acts = repairsFor(medplum, pages, holders);
      if (written.length > 0) {
        step = 0;
        acts.push(() => followSlots(medplum, written, end));
      }
      yield* acts.map((act) => () => act().catch(failed));
      tried = readUpTo(pages, start);
      reached = isWhole ? tried : reached;
    }
  }
  try {
    await carryOut(acts(), end);
  } finally {
    // Old failures do not hold up the others. Items that were not tried are kept.
    const until = isWhole ? reached : Math.max(reached, Math.min(tried, start - HORIZON));
    if (!row || until < stored || until - before > step) {
      await moveCheckpoint(medplum, 'reconcile', row, until);
    }
  }
}
