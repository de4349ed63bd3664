import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Patient } from '@medplum/fhirtypes';
import { duplicatesOf, isActivePatient, mergeTransaction } from '../../core/booking/patient/identity.ts';
import { identifierQuery } from '../../core/booking/search.ts';
import { ownerOf, requestorQuery } from '../../core/fhir/tags.ts';
import { syncAppointmentsOfPatient } from '../lib/booking/slot-sync.ts';
import { config } from '../lib/config.ts';
import { retryOvertaken, sendBundle } from '../lib/medplum.ts';
import { ofType, readInBatch } from '../lib/read.ts';

/** How often a merge is attempted when the patient changes in the meantime. */
const ATTEMPTS = 5;

async function readPatients(medplum: MedplumClient, query: Iterable<[string, string]>): Promise<Patient[]> {
  const [found] = await readInBatch(medplum, [`Patient?${new URLSearchParams([...query])}`]);
  return ofType('Patient', found);
}

/** Tries once to merge the duplicates; returns their ids. */
async function merge(medplum: MedplumClient, patient: Patient): Promise<string[] | 'overtaken'> {
  const query = identifierQuery(patient.identifier, requestorQuery(ownerOf(patient, config) ?? '', config));
  const { oldest, duplicates } = duplicatesOf(patient, query ? await readPatients(medplum, query) : [], config);
  for (const duplicate of duplicates) {
    const merged = await sendBundle(medplum, mergeTransaction(duplicate, oldest));
    if (merged.kind === 'overtaken') {
      return 'overtaken';
    }
    if (merged.kind !== 'done') {
      throw new Error(`Patient/${duplicate.id} could not be merged into Patient/${oldest.id} (${merged.kind}).`);
    }
  }
  return duplicates.map(({ id }) => id ?? '');
}

/**
 * Merges the records that two bookings created for one patient; returns the ids of those merged into another one.
 *
 * @throws Error when the server does not answer or refuses the merge, or other requests overtake every attempt
 */
async function mergeDuplicates(medplum: MedplumClient, patient: Patient): Promise<string[]> {
  const merged = await retryOvertaken(
    () => merge(medplum, patient),
    (result) => result === 'overtaken',
    { most: ATTEMPTS },
  );
  if (merged === 'overtaken') {
    throw new Error(
      `The duplicates of Patient/${patient.id} could not be merged: other requests changed them at each attempt.`,
    );
  }
  return merged;
}

/**
 * Handles the appointments of a patient who is inactive, deleted or merged: open ones are transferred to the survivor of
 * a merge, otherwise cancelled. Two records that simultaneous bookings created for one patient are merged.
 *
 * @param event - input: the Patient, or `deletedResource` with it, as the Subscription delivers it
 * @throws Error when it could not be done
 * @see specification 2.1
 */
export async function handler(
  medplum: MedplumClient,
  { input }: BotEvent<Patient | { deletedResource: Patient }>,
): Promise<void> {
  const { id = '' } = 'deletedResource' in input ? input.deletedResource : input;
  const [patient] = await readPatients(medplum, [['_id', id]]);
  const gone = patient && isActivePatient(patient) ? await mergeDuplicates(medplum, patient) : [id];
  for (const one of gone) {
    await syncAppointmentsOfPatient(medplum, one);
  }
}
