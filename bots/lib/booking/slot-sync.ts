import type { MedplumClient } from '@medplum/core';
import type { Appointment } from '@medplum/fhirtypes';
import { afterPatientChange } from '../../../core/booking/appointment/patient-change.ts';
import { holdsSlots, isOpen, statusQuery } from '../../../core/booking/appointment/status.ts';
import { expired, isExpired } from '../../../core/booking/hold/hold.ts';
import { slotEntries } from '../../../core/booking/slots/synchronize.ts';
import { updateEntry } from '../../../core/fhir/update-entry.ts';
import { config } from '../config.ts';
import { type BundleAnswer, retryOvertaken, sendTransaction } from '../medplum.ts';
import { newId } from '../new-id.ts';
import { ofType, readInBatch } from '../read.ts';
import { completeRelated, readRelatedAppointment, readRelatedSlots, readSurvivors } from './related-reads.ts';

/** An appointment that was deleted holds nothing any more, as one that was cancelled. */
const asCancelled = (deleted: Appointment): Appointment => ({ ...deleted, status: 'cancelled' });

/** Reads, decides and writes once; `settled` if there is nothing to write. */
async function attempt(medplum: MedplumClient, seen: Appointment): Promise<BundleAnswer['kind'] | 'settled'> {
  const found = await readRelatedAppointment(medplum, seen.id ?? '');
  const stored = found.appointment;
  const appointment = stored ?? asCancelled(seen);
  const related = await completeRelated(medplum, appointment, found);
  const patients = await readSurvivors(medplum, related.patients);
  const current = afterPatientChange(appointment, patients, config.baseUrl);
  const changed = isExpired(current, Date.now(), config) ? expired(current, config) : current;
  const slots = await readRelatedSlots(medplum, changed, related.slots);
  // What was over when it was deleted has given its slots back: whoever deletes them later does not offer them any more.
  const missing = stored || holdsSlots(seen) ? slots.lost : [];
  const entry = [
    ...(stored && changed !== stored ? [updateEntry(stored, changed)] : []),
    ...slotEntries(changed, { ...slots, lost: missing }, config, newId),
  ];
  return entry.length > 0 ? (await sendTransaction(medplum, entry)).kind : 'settled';
}

/**
 * Brings an appointment and its slots to what its status, its patients and, for a hold, its end demand, whoever has changed them last. It looks
 * at what is stored now, not at what has happened, so that a run that was missed or comes twice does no harm.
 *
 * @param seen - the appointment as it was reported; only its id counts, or, once it is deleted, its slots
 * @throws Error when the server could not be reached, refuses the result, or others were faster too often
 * @see specification section 3
 */
export async function syncAppointment(medplum: MedplumClient, seen: Appointment): Promise<void> {
  const result = await retryOvertaken(
    () => attempt(medplum, seen),
    (kind) => kind === 'overtaken',
    { most: config.maxAttempts },
  );
  if (result === 'overtaken') {
    throw new Error(
      `The slots of Appointment/${seen.id} could not be written: other requests changed them at each attempt.`,
    );
  }
  if (result !== 'settled' && result !== 'done') {
    throw new Error(`The slots of Appointment/${seen.id} could not be written (${result}).`);
  }
}

/** Brings every open appointment of a patient to what the patient's state demands. */
export async function syncAppointmentsOfPatient(medplum: MedplumClient, id: string): Promise<void> {
  const query = new URLSearchParams({ actor: `Patient/${id}`, status: statusQuery(isOpen), _count: '1000' });
  const [found] = await readInBatch(medplum, [`Appointment?${query}`]);
  for (const appointment of ofType('Appointment', found)) {
    await syncAppointment(medplum, appointment);
  }
}
