import type { Identifier, Patient } from '@medplum/fhirtypes';

/**
 * Whether appointments can be made for a patient: not marked inactive, and not merged into another one.
 *
 * @see specification 2.1; https://hl7.org/fhir/R4/patient.html#merge
 */
export function isActivePatient(patient: Patient): boolean {
  return patient.active !== false && !patient.link?.some(({ type }) => type === 'replaced-by');
}

/** Whether two resources share an identifier: the same value in the same system. */
export function hasCommonIdentifier(one: readonly Identifier[] | undefined, other: readonly Identifier[] | undefined) {
  return (one ?? []).some(
    ({ system, value }) => value && other?.some((known) => known.system === system && known.value === value),
  );
}
