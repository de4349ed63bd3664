import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Patient } from '@medplum/fhirtypes';
import { followPatient } from '../lib/booking/follow-patient.ts';

/**
 * Updates the appointments of a patient after a change or deletion of the record.
 * @param event - input: the Patient, or `deletedResource` with it, as the Subscription delivers it
 * @see specification 2.1
 */
export async function handler(
  medplum: MedplumClient,
  { input }: BotEvent<Patient | { deletedResource: Patient }>,
): Promise<void> {
  const { id = '' } = 'deletedResource' in input ? input.deletedResource : input;
  await followPatient(medplum, id);
}
