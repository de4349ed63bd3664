import type { MedplumClient } from '@medplum/core';
import type { Appointment } from '@medplum/fhirtypes';
import { isExpired } from '../../core/booking/hold/hold.ts';
import { isActivePatient } from '../../core/booking/patient/identity.ts';
import { isOutOfSync } from '../../core/booking/slots/synchronize.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { syncAppointment, syncAppointmentsOfPatient } from '../lib/booking/slot-sync.ts';
import { config } from '../lib/config.ts';
import { ofType, readInBatch } from '../lib/read.ts';

/** How far it looks back, in milliseconds. What is older, `npm run check:consistency` finds. */
const HORIZON = 60 * 60_000;

/** After so many milliseconds the rest is left to the next minute: the Bot has ten seconds. */
const PATIENCE = 6_000;

/** How many appointments and patients are read at once: with their slots they must stay under Medplum's limit of 1000. */
const PAGE = 100;

/**
 * Holds that are over, page by page: however many others hold at the moment, the oldest are found. They count as free
 * already; here they are tidied up.
 */
async function expiredHolds(medplum: MedplumClient, now: number): Promise<Appointment[]> {
  const expired: Appointment[] = [];
  for (let page = 0; Date.now() - now < PATIENCE / 2; page++) {
    const query = `Appointment?status=proposed&_sort=_lastUpdated,_id&_count=${PAGE}&_offset=${page * PAGE}`;
    const [found] = await readInBatch(medplum, [query]);
    const proposed = ofType('Appointment', found);
    expired.push(...proposed.filter((appointment) => isExpired(appointment, now, config)));
    if (proposed.length < PAGE) {
      break;
    }
  }
  return expired;
}

/** What is to be done about one page of what was changed lately, the latest first. */
async function leftOn(medplum: MedplumClient, page: number, start: number) {
  const lately = `_lastUpdated=ge${formatInstant(start - HORIZON)}&_sort=-_lastUpdated&_count=${PAGE}&_offset=${page * PAGE}`;
  const [changed, persons] = await readInBatch(medplum, [
    `Appointment?${lately}&_include=Appointment:slot`,
    `Patient?${lately}`,
  ]);
  const [appointments, patients] = [ofType('Appointment', changed), ofType('Patient', persons)];
  const slots = new Map(ofType('Slot', changed).map((slot) => [slot.id ?? '', slot]));
  const outOfSync = appointments.filter((appointment) => isOutOfSync(appointment, slots));
  const gone = patients.filter((patient) => !isActivePatient(patient));
  return {
    isLast: appointments.length < PAGE && patients.length < PAGE,
    left: [
      ...outOfSync.map((appointment) => () => syncAppointment(medplum, appointment)),
      ...gone.map(
        ({ id }) =>
          () =>
            syncAppointmentsOfPatient(medplum, id ?? ''),
      ),
    ],
  };
}

/**
 * Runs every minute, ends holds that are over, and does what `sync-slots` and `handle-patient-change` should have done:
 * Medplum does not start a Bot again that has failed, and a job may be lost with its server.
 *
 * @throws Error when Medplum does not answer, or something could not be corrected; the next run tries again
 */
export async function handler(medplum: MedplumClient): Promise<void> {
  const start = Date.now();
  const failures: string[] = [];
  for (const hold of await expiredHolds(medplum, start)) {
    await syncAppointment(medplum, hold).catch((error: unknown) => failures.push(String(error)));
  }
  let isLast = false;
  for (let page = 0; !isLast && Date.now() - start < PATIENCE; page++) {
    const found = await leftOn(medplum, page, start);
    isLast = found.isLast;
    for (const run of found.left) {
      await run().catch((error: unknown) => failures.push(String(error)));
    }
  }
  if (failures.length > 0) {
    throw new Error(failures.join('\n'));
  }
}
