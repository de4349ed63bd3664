import type { MedplumClient } from '@medplum/core';
import type { Appointment } from '@medplum/fhirtypes';
import { afterPatientChange } from '../../../core/booking/appointment/patient-change.ts';
import { holdsSlots, isOpen, statusQuery } from '../../../core/booking/appointment/status.ts';
import { slotEntries } from '../../../core/booking/slots/synchronize.ts';
import { updateEntry } from '../../../core/fhir/update-entry.ts';
import { config } from '../config.ts';
import { backOff, sendBundle } from '../medplum.ts';
import { newId } from '../new-id.ts';
import { readPatients, readRelatedSlots } from './related-reads.ts';

/** The appointment as it is now, or `undefined` if it was deleted. */
async function current(medplum: MedplumClient, id: string): Promise<Appointment | undefined> {
  const found = await medplum.searchResources('Appointment', `_id=${encodeURIComponent(id)}`, { cache: 'reload' });
  return found[0];
}

/** An appointment that was deleted holds nothing any more, as one that was cancelled. */
const asCancelled = (deleted: Appointment): Appointment => ({ ...deleted, status: 'cancelled' });

/**
 * Brings an appointment and its slots to what its status and its patients demand, whoever has changed them last. It looks
 * at what is stored now, not at what has happened, so that a run that was missed or comes twice does no harm.
 *
 * @param seen - the appointment as it was reported; only its id counts, or, once it is deleted, its slots
 * @throws Error when the server could not be reached, refuses the result, or others were faster too often
 * @see specification section 3
 */
export async function syncAppointment(medplum: MedplumClient, seen: Appointment): Promise<void> {
  for (let attempt = 1; attempt <= config.maxAttempts; attempt++) {
    const start = Date.now();
    const stored = await current(medplum, seen.id ?? '');
    const appointment = stored ?? asCancelled(seen);
    const patients = await readPatients(medplum, appointment);
    const changed = afterPatientChange(appointment, patients, config.baseUrl);
    const { fragments, lost } = await readRelatedSlots(medplum, changed);
    // What was over when it was deleted has given its slots back: whoever deletes them later does not offer them any more.
    const missing = stored || holdsSlots(seen) ? lost : [];
    const entry = [
      ...(stored && changed !== stored ? [updateEntry(stored, changed)] : []),
      ...slotEntries(changed, { fragments, lost: missing }, config, newId),
    ];
    const written =
      entry.length > 0 && (await sendBundle(medplum, { resourceType: 'Bundle', type: 'transaction', entry }));
    if (!written || written.kind === 'done') {
      return;
    }
    if (written.kind !== 'overtaken') {
      throw new Error(`Appointment/${seen.id} could not be settled (${written.kind}).`);
    }
    await backOff(Date.now() - start);
  }
  throw new Error(`Appointment/${seen.id} could not be settled: others were faster each time.`);
}

/** Brings every open appointment of a patient to what the patient's state demands. */
export async function syncAppointmentsOfPatient(medplum: MedplumClient, id: string): Promise<void> {
  const query = new URLSearchParams({ actor: `Patient/${id}`, status: statusQuery(isOpen), _count: '1000' });
  const appointments = await medplum.searchResources('Appointment', query, { cache: 'reload' });
  for (const appointment of appointments) {
    await syncAppointment(medplum, appointment);
  }
}
