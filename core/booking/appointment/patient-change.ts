import type { Appointment, Patient } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { idIn } from '../../fhir/reference.ts';
import { isActivePatient } from '../patients/identity.ts';
import { type Patients, patientIdsOf } from './change.ts';
import { reasonOf } from './expiry.ts';
import { isOpen } from './status.ts';

/** The most merges in a row that are followed to the survivor. */
const MAX_CHAIN = 8;

/** The id of the patient into which a patient was merged, if it was. */
export function replacedBy({ link }: Patient): string | undefined {
  return idIn(link?.find(({ type }) => type === 'replaced-by')?.other, 'Patient');
}

/** The ids of survivors that must still be read. */
export function unknownSurvivors(patients: Patients): string[] {
  return [...patients.values()].flatMap((patient) => {
    const id = replacedBy(patient);
    return id !== undefined && !patients.has(id) ? [id] : [];
  });
}

/**
 * The id of the active record of a patient: the patient itself, or the record into which it was merged.
 * @returns `undefined` if there is none: the patient is deleted or inactive, or its merges form a circle or too long a
 *   chain
 */
export function survivorOf(id: string, patients: Patients): string | undefined {
  let current: string | undefined = id;
  for (let merges = 0; current !== undefined && merges <= MAX_CHAIN; merges++) {
    const patient = patients.get(current);
    if (!patient) {
      return undefined;
    }
    if (isActivePatient(patient)) {
      return current;
    }
    current = replacedBy(patient);
  }
  return undefined;
}

/**
 * Adapts an open appointment to the state of its patients. A merged patient is replaced by the survivor; an inactive or
 * deleted one is removed. If no patient is left, the appointment is cancelled. Closed appointments stay unchanged.
 * @param patients - all who take part, and the survivors of merges (`unknownSurvivors`), as far as they exist
 * @returns the same object if nothing has to change
 * @see specification 2.1
 */
export function afterPatientChange(appointment: Appointment, patients: Patients, config: BookingConfig): Appointment {
  const { baseUrl } = config;
  const participants = patientIdsOf(appointment, baseUrl);
  const survivors = new Map(participants.map(({ id }) => [id, survivorOf(id, patients)]));
  if (!isOpen(appointment) || participants.every(({ id }) => survivors.get(id) === id)) {
    return appointment;
  }
  if ([...survivors.values()].every((survivor) => survivor === undefined)) {
    const cancelationReason = reasonOf('patient-inactive', 'The patient is no longer active.', config);
    return { ...appointment, status: 'cancelled', cancelationReason };
  }
  const taken = new Set<string>();
  const participant = appointment.participant.flatMap((one) => {
    const [patient] = patientIdsOf({ ...appointment, participant: [one] }, baseUrl);
    if (!patient) {
      return [one];
    }
    const survivor = survivors.get(patient.id);
    if (survivor === undefined) {
      return [];
    }
    const isSecond = taken.has(survivor);
    taken.add(survivor);
    return isSecond ? [] : [{ ...one, actor: { ...one.actor, reference: `Patient/${survivor}` } }];
  });
  return { ...appointment, participant };
}
