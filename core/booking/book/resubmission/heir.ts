import { type Patients, patientIdsOf } from '../../appointment/change.ts';
import { replacedBy, survivorOf } from '../../appointment/patient-change.ts';
import { isActivePatient } from '../../patient/identity.ts';
import { findResource, type ResourceSet } from '../../resource-set.ts';
import { changedBy, type EarlierAppointments } from './reschedule.ts';

/** The ids of the patients of the appointments that a booking moves or replaces. */
function patientsOfEarlier(earlier: EarlierAppointments, baseUrl: string): string[] {
  return changedBy(earlier).flatMap((one) => patientIdsOf(one, baseUrl).map(({ id }) => id));
}

/**
 * Who stands in for a patient in a booking that moves or replaces an appointment: the clinic may have merged the patient
 * that the requestor knows into a record of its own. The requestor may name either, but the survivor only if its own
 * appointment names it.
 *
 * @param patients - merged patients and those into which they were merged, read with the service's own rights; `undefined`
 *   if that was not needed
 * @returns the id of an active patient; `undefined` if the patient is to be judged as in any other booking
 */
export function heirOf(
  id: string,
  earlier: EarlierAppointments,
  patients: Patients | undefined,
  baseUrl: string,
): string | undefined {
  const taking = patientsOfEarlier(earlier, baseUrl);
  const heir = patients && survivorOf(id, patients);
  return heir !== undefined && (taking.includes(id) || taking.includes(heir)) ? heir : undefined;
}

/**
 * Of the patients that a request names, those whose survivors must be known: either the caller cannot see them but its own
 * appointment names them, or they were merged.
 *
 * @param state - what the caller may see
 */
export function mergedPatients(
  named: readonly string[],
  earlier: EarlierAppointments,
  state: ResourceSet,
  baseUrl: string,
): string[] {
  const taking = patientsOfEarlier(earlier, baseUrl);
  return named.filter((id) => {
    const seen = findResource(state, 'Patient', id);
    return seen ? taking.length > 0 && !isActivePatient(seen) && replacedBy(seen) !== undefined : taking.includes(id);
  });
}
