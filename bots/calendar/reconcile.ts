import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, Parameters } from '@medplum/fhirtypes';
import { hasEnded, isWaiting } from '../../core/booking/appointment/expiry.ts';
import { isOpenTask } from '../../core/booking/confirmation/task.ts';
import { withOwners } from '../../core/booking/encounter/owner.ts';
import { isActivePatient } from '../../core/booking/patient/identity.ts';
import { isOutOfSync } from '../../core/booking/slots/synchronize.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { isRow } from '../../core/rows/row.ts';
import { shareEncounter } from '../lib/booking/encounter-owner.ts';
import { syncAppointment, syncAppointmentsOfPatient } from '../lib/booking/slot-sync.ts';
import { markSlots } from '../lib/calendar/mark-slots.ts';
import { config } from '../lib/config.ts';
import { ofType, readInBatch } from '../lib/read.ts';
import { carryOut } from '../lib/rows.ts';
import { RUN_LIMIT } from '../lib/run-limit.ts';

/** How far it looks back, in milliseconds. Anything older is found by `npm run check:consistency`. */
const HORIZON = 60 * 60_000;

/** How many appointments and patients are read at once: with their slots they must stay under Medplum's limit of 1000. */
const PAGE = 100;

/**
 * Holds and requests that are over, page by page, the oldest first, so that they are found however many others there are.
 * Their time already counts as free; here they are only tidied up. Requests are usually ended through their Tasks
 * (`end-requests`): those found here are the ones whose Task was closed or deleted.
 *
 * @param share - the share of the Bot's time after which it stops looking
 */
async function endedOnes(
  medplum: MedplumClient,
  status: 'proposed' | 'pending',
  now: number,
  share: number,
): Promise<Appointment[]> {
  const ended: Appointment[] = [];
  for (let page = 0; Date.now() - now < RUN_LIMIT * share; page++) {
    const query = `Appointment?status=${status}&_sort=_lastUpdated,_id&_count=${PAGE}&_offset=${page * PAGE}`;
    const [found] = await readInBatch(medplum, [query]);
    const appointments = ofType('Appointment', found);
    ended.push(...appointments.filter((appointment) => hasEnded(appointment, now, config)));
    if (appointments.length < PAGE) {
      break;
    }
  }
  return ended;
}

/** What is to be done about one page of the recent changes, the latest first. */
async function leftOn(medplum: MedplumClient, page: number, start: number) {
  const lately = `_lastUpdated=ge${formatInstant(start - HORIZON)}&_sort=-_lastUpdated&_count=${PAGE}&_offset=${page * PAGE}`;
  const [changed, persons, visits] = await readInBatch(medplum, [
    `Appointment?${lately}&_include=Appointment:slot&_revinclude=Task:focus`,
    `Patient?${lately}`,
    `Encounter?${lately}&_include=Encounter:appointment`,
  ]);
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
      isOutOfSync(appointment, slots, config) ||
      (waiting.has(`Appointment/${appointment.id}`) && !isWaiting('request', appointment, config)),
  );
  const gone = patients.filter((patient) => !isActivePatient(patient));
  return {
    isLast: [appointments, patients, encounters].every(({ length }) => length < PAGE),
    left: [
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
    ],
  };
}

/** The ids of the Slots that the caller wants marked; `undefined` when the clock started the Bot. */
function slotsToMark(input: unknown): string[] | undefined {
  return isResource(input, 'Parameters')
    ? (input.parameter ?? []).flatMap(({ name, valueId }) => (name === 'slot' && valueId ? [valueId] : []))
    : undefined;
}

/**
 * Runs every minute: ends holds and requests that are over, and does what `sync-slots`, `handle-patient-change` and
 * `tag-encounter` should have done: Medplum does not rerun a Bot that has failed, and a job may be lost with its server.
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

async function reconcile(medplum: MedplumClient): Promise<void> {
  const start = Date.now();
  async function* acts() {
    const ended = [
      ...(await endedOnes(medplum, 'proposed', start, 1 / 3)),
      ...(await endedOnes(medplum, 'pending', start, 1 / 2)),
    ];
    yield* ended.map((one) => () => syncAppointment(medplum, one));
    for (let page = 0, isLast = false; !isLast; page++) {
      const found = await leftOn(medplum, page, start);
      isLast = found.isLast;
      yield* found.left;
    }
  }
  await carryOut(acts(), start + RUN_LIMIT);
}
