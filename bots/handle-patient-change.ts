import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Patient } from '@medplum/fhirtypes';
import { isActivePatient } from '../core/booking/book/resolve-participants.ts';
import { duplicatesOf, mergeTransaction } from '../core/booking/patient/deduplicate.ts';
import { identifierQuery } from '../core/booking/search.ts';
import { ownerOf, requestorQuery } from '../core/fhir/tags.ts';
import { syncAppointmentsOfPatient } from './lib/booking/slot-sync.ts';
import { config } from './lib/config.ts';
import { sendBundle } from './lib/medplum.ts';

/** How often a merge is decided anew when a patient has changed meanwhile. */
const ATTEMPTS = 5;

/**
 * Merges what two bookings have made of one patient; gives the ids of those who are merged into another one.
 *
 * @throws Error when the server does not answer or refuses it, or others were faster too often
 */
async function mergeDuplicates(medplum: MedplumClient, patient: Patient, attempt = 1): Promise<string[]> {
  const query = identifierQuery(patient.identifier, requestorQuery(ownerOf(patient, config) ?? '', config));
  const found = query ? await medplum.searchResources('Patient', new URLSearchParams(query), { cache: 'reload' }) : [];
  const { elder, younger } = duplicatesOf(patient, found, config);
  for (const duplicate of younger) {
    const merged = await sendBundle(medplum, mergeTransaction(duplicate, elder));
    if (merged.kind === 'overtaken' && attempt < ATTEMPTS) {
      return mergeDuplicates(medplum, patient, attempt + 1);
    }
    if (merged.kind !== 'done') {
      throw new Error(`Patient/${duplicate.id} could not be merged into Patient/${elder.id} (${merged.kind}).`);
    }
  }
  return younger.map(({ id }) => id ?? '');
}

/**
 * Looks after the appointments of a patient who has gone (inactive, deleted, merged): open ones are handed on to the
 * survivor of a merge, else cancelled. A patient that two bookings have made at the same moment becomes one again.
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
  const [patient] = await medplum.searchResources('Patient', `_id=${encodeURIComponent(id)}`, { cache: 'reload' });
  const gone = patient && isActivePatient(patient) ? await mergeDuplicates(medplum, patient) : [id];
  for (const one of gone) {
    await syncAppointmentsOfPatient(medplum, one);
  }
}
