import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Parameters, Resource } from '@medplum/fhirtypes';
import { hasEnded, isWaiting } from '../../core/booking/appointment/expiry.ts';
import { isOpenTask } from '../../core/booking/confirmation/task.ts';
import { withOwners } from '../../core/booking/encounter/owner.ts';
import { isActivePatient } from '../../core/booking/patient/identity.ts';
import { isOutOfSync } from '../../core/booking/slots/synchronize.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { OVERLAP } from '../../core/notifications/delivery/checkpoint.ts';
import { isRow } from '../../core/rows/row.ts';
import { shareEncounter } from '../lib/booking/encounter-owner.ts';
import { syncAppointment, syncAppointmentsOfPatient } from '../lib/booking/slot-sync.ts';
import { markSlots } from '../lib/calendar/mark-slots.ts';
import { config } from '../lib/config.ts';
import { ofType, readInTransaction, readPages } from '../lib/read.ts';
import { carryOut, checkpointSearch, moveCheckpoint, RUN_LIMIT, reachedIn } from '../lib/rows.ts';

/** How far it looks back at most, in milliseconds. Anything older is found by `npm run check:consistency`. */
const HORIZON = 60 * 60_000;

/** How far it has to get before that is written down, in milliseconds. */
const STEP = 5 * 60_000;

/** How many recent changes are read at once: with their slots they must stay under Medplum's limit of 1000. */
const PAGE = 100;

/** What is to be done about one page of the recent changes. */
function leftIn(medplum: MedplumClient, [changed, persons, visits]: readonly Resource[][]): (() => Promise<void>)[] {
  const [appointments, patients] = [ofType('Appointment', changed), ofType('Patient', persons)];
  const encounters = ofType('Encounter', visits);
  const named = ofType('Appointment', visits);
  const untagged = encounters.filter((encounter) => withOwners(encounter, named, config) !== encounter);
  const slots = new Map(ofType('Slot', changed).map((slot) => [slot.id ?? '', slot]));
  const waiting = new Set(
    ofType('Task', changed).flatMap((task) =>
      isRow(task, ['confirm'], config) && isOpenTask(task) ? (task.focus?.reference ?? []) : [],
    ),
  );
  const outOfSync = appointments.filter(
    (appointment) =>
      isOutOfSync(appointment, slots, Date.now(), config) ||
      (waiting.has(`Appointment/${appointment.id}`) && !isWaiting('request', appointment, config)),
  );
  const gone = patients.filter((patient) => !isActivePatient(patient));
  return [
    ...outOfSync.map((appointment) => () => syncAppointment(medplum, appointment)),
    ...gone.map(
      ({ id }) =>
        () =>
          syncAppointmentsOfPatient(medplum, id ?? ''),
    ),
    ...untagged.map(
      ({ id }) =>
        () =>
          shareEncounter(medplum, id ?? ''),
    ),
  ];
}

/** The ids of the Slots that the caller wants marked; `undefined` when the clock started the Bot. */
function slotsToMark(input: unknown): string[] | undefined {
  return isResource(input, 'Parameters')
    ? (input.parameter ?? []).flatMap(({ name, valueId }) => (name === 'slot' && valueId ? [valueId] : []))
    : undefined;
}

/**
 * Runs every minute: ends holds and requests that are over, and does what `sync-slots`, `handle-patient-change` and
 * `tag-encounter` should have done about all changes since its last run: Medplum does not rerun a Bot that has failed, and
 * a job may be lost with its server.
 *
 * Called with Parameters that name Slots (`slot`), it marks these (`markSlots`): so does a deployment over an older version.
 *
 * @throws Error when Medplum does not answer, or something could not be corrected; the next run tries again
 */
export async function handler(medplum: MedplumClient, event?: BotEvent<unknown>): Promise<Parameters | undefined> {
  const ids = slotsToMark(event?.input);
  if (ids) {
    const written = await markSlots(medplum, ids);
    return { resourceType: 'Parameters', parameter: [{ name: 'written', valueInteger: written }] };
  }
  await reconcile(medplum);
  return undefined;
}

/** Up to which moment all changes were read with these pages, each of which may be the last of its search. */
function readUpTo(pages: readonly Resource[][], now: number): number {
  const types = ['Appointment', 'Patient', 'Encounter'] as const;
  const own = pages.map((page, index) => page.filter(({ resourceType }) => resourceType === types[index]));
  const ends = own.flatMap((page) => (page.length < PAGE ? [] : [Date.parse(page.at(-1)?.meta?.lastUpdated ?? '')]));
  return Math.min(now, ...ends);
}

async function reconcile(medplum: MedplumClient): Promise<void> {
  const start = Date.now();
  const end = start + RUN_LIMIT;
  const [rows] = await readInTransaction(medplum, [checkpointSearch('reconcile')]);
  const [row] = ofType('Task', rows);
  const before = reachedIn(row) ?? start - HORIZON;
  let reached = before;
  async function* acts() {
    // Holds and requests that are over. Their time counts as free already; here they are only tidied up. Requests are
    // usually ended through their Tasks (`end-requests`): these are the ones whose Task was closed or deleted.
    const waiting = ['proposed', 'pending'].map((status) => `Appointment?status=${status}`);
    for await (const pages of readPages(medplum, waiting, { end: start + RUN_LIMIT / 2 })) {
      const ended = ofType('Appointment', pages.flat()).filter((one) => hasEnded(one, start, config));
      yield* ended.map((one) => () => syncAppointment(medplum, one));
    }
    const lately = `_lastUpdated=ge${formatInstant(Math.min(before, start) - OVERLAP)}`;
    let isWhole = true;
    const failed = (error: unknown): never => {
      isWhole = false;
      throw error;
    };
    const searches = [
      `Appointment?${lately}&_include=Appointment:slot&_revinclude=Task:focus`,
      `Patient?${lately}`,
      `Encounter?${lately}&_include=Encounter:appointment`,
    ];
    for await (const pages of readPages(medplum, searches, { count: PAGE, end })) {
      yield* leftIn(medplum, pages).map((act) => () => act().catch(failed));
      reached = isWhole ? readUpTo(pages, start) : reached;
    }
  }
  try {
    await carryOut(acts(), end);
  } finally {
    // What fails for long does not hold up the others.
    const until = Math.max(reached, start - HORIZON);
    if (!row || until - before > STEP) {
      await moveCheckpoint(medplum, 'reconcile', row, until);
    }
  }
}
