import type { MedplumClient } from '@medplum/core';
import type { Patient } from '@medplum/fhirtypes';
import { duplicatesOf, isActivePatient, mergeEntries } from '../../../core/booking/patients/identity.ts';
import { ownerOf, requestorQuery } from '../../../core/fhir/tags.ts';
import { identifierQuery } from '../../../core/rows/search.ts';
import { config } from '../config.ts';
import { sendTransaction, writeInTheEnd } from '../medplum.ts';
import { ofType, readInBatch } from '../read.ts';
import { syncAppointmentsOfPatients } from './slot-sync.ts';

async function readPatients(medplum: MedplumClient, query: Iterable<[string, string]>): Promise<Patient[]> {
  const [found] = await readInBatch(medplum, [`Patient?${new URLSearchParams([...query])}`]);
  return ofType('Patient', found);
}

/**
 * Merges the records that two bookings created for one patient; returns the ids of the merged records.
 * @throws Error when the server does not answer or refuses the merge, or other requests overtake every attempt
 */
async function mergeDuplicates(medplum: MedplumClient, patient: Patient): Promise<string[]> {
  const query = identifierQuery(patient.identifier, requestorQuery(ownerOf(patient, config) ?? '', config));
  let merged: string[] = [];
  const merge = async () => {
    const found = query ? await readPatients(medplum, query) : [];
    const current = found.find(({ id }) => id === patient.id) ?? patient;
    const duplicateSet = duplicatesOf(current, found, config);
    merged = duplicateSet.duplicates.map(({ id = '' }) => id);
    return merged.length > 0 ? (await sendTransaction(medplum, mergeEntries(duplicateSet))).kind : 'unchanged';
  };
  await writeInTheEnd(merge, `The duplicates of Patient/${patient.id}`);
  return merged;
}

/**
 * Updates the open appointments of a patient who is inactive, deleted or merged: they are transferred to the successor
 * patient of a merge, otherwise cancelled. Two records that simultaneous bookings created for one patient are merged.
 * @see specification 2.1
 */
export async function followPatient(medplum: MedplumClient, id: string): Promise<void> {
  const [patient] = await readPatients(medplum, [['_id', id]]);
  const gone = patient && isActivePatient(patient) ? await mergeDuplicates(medplum, patient) : [id];
  if (gone.length > 0) {
    await syncAppointmentsOfPatients(medplum, gone);
  }
}
