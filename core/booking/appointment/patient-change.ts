import type { Appointment, Patient } from '@medplum/fhirtypes';
import { isActivePatient } from '../patient/identity.ts';
import { idIn } from '../resource-set.ts';
import { type Patients, patientIdsOf } from './change.ts';
import { isOpen } from './status.ts';

/** How many merges in a row are followed to the survivor. */
const LONGEST_CHAIN = 8;

/** The id of the patient into whom one was merged, if it was. */
export function replacedBy({ link }: Patient): string | undefined {
  return idIn(link?.find(({ type }) => type === 'replaced-by')?.other, 'Patient');
}

/** The ids of patients that must be known, too, to tell who survives: those into whom the known ones were merged. */
export function unknownSurvivors(patients: Patients): string[] {
  return [...patients.values()].flatMap((patient) => {
    const id = replacedBy(patient);
    return id !== undefined && !patients.has(id) ? [id] : [];
  });
}

/**
 * The id of the active patient who stands for a patient: itself, or the survivor of its merges.
 *
 * @returns `undefined` if nobody does: deleted, inactive, or merged in a circle
 */
export function survivorOf(id: string, patients: Patients): string | undefined {
  let current: string | undefined = id;
  for (let merges = 0; current !== undefined && merges <= LONGEST_CHAIN; merges++) {
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
 * An appointment as it must be now that its patients are as they are: a patient who was merged hands it on to the
 * survivor; it is cancelled if one is inactive or was deleted. An appointment that is not open stays as it is.
 *
 * @param patients - all who take part, and the survivors of merges (`unknownSurvivors`), as far as they exist
 * @param baseUrl - public base address of this service
 * @returns the very same object if nothing has to change
 * @see specification 2.1
 */
export function afterPatientChange(appointment: Appointment, patients: Patients, baseUrl: string): Appointment {
  const taking = patientIdsOf(appointment, baseUrl);
  const survivors = new Map(taking.map(({ id }) => [id, survivorOf(id, patients)]));
  if (!isOpen(appointment) || taking.every(({ id }) => survivors.get(id) === id)) {
    return appointment;
  }
  if ([...survivors.values()].includes(undefined)) {
    return { ...appointment, status: 'cancelled' };
  }
  const taken = new Set<string>();
  const participant = appointment.participant.flatMap((one) => {
    const [patient] = patientIdsOf({ ...appointment, participant: [one] }, baseUrl);
    const survivor = patient && survivors.get(patient.id);
    if (survivor === undefined) {
      return [one];
    }
    const isSecond = taken.has(survivor);
    taken.add(survivor);
    return isSecond ? [] : [{ ...one, actor: { ...one.actor, reference: `Patient/${survivor}` } }];
  });
  return { ...appointment, participant };
}
