import type { Patient } from '@medplum/fhirtypes';
import { medplum, resourceIn } from '../http.ts';

/** Clinic staff edit a patient in Medplum. */
export async function editPatient({ id }: Patient, changes: Partial<Patient>): Promise<Patient> {
  const stored = resourceIn('Patient', await medplum('front-desk', 'GET', `/Patient/${id}`));
  return resourceIn(
    'Patient',
    await medplum('front-desk', 'PUT', `/Patient/${id}`, { body: { ...stored, ...changes } }),
  );
}

/** Clinic staff delete a patient in Medplum. */
export const deletePatient = ({ id }: Patient) => medplum('front-desk', 'DELETE', `/Patient/${id}`);

/** Clinic staff merge a patient into another one. */
export const merge = (patient: Patient, survivor: Patient) =>
  editPatient(patient, {
    active: false,
    link: [{ other: { reference: `Patient/${survivor.id}` }, type: 'replaced-by' }],
  });
