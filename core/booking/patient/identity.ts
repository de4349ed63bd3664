import type { Bundle, Identifier, Patient } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { updateEntry } from '../../fhir/resource.ts';
import { isByService, ownerOf } from '../../fhir/tags.ts';

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

const age = ({ id, meta }: Patient): string => `${meta?.lastUpdated ?? ''} ${id ?? ''}`;

/** Patients that are one person: the oldest, and its duplicates. */
interface DuplicatePatients {
  readonly oldest: Patient;
  readonly duplicates: readonly Patient[];
}

/**
 * Finds the duplicates of a patient that was created with a booking. Two simultaneous bookings for the same new patient of
 * the same requestor create it twice; the oldest record stays. A patient that a portal has created or changed directly is
 * not a duplicate.
 *
 * @param patient - one of them
 * @param found - the patients of its requestor with one of its identifiers
 */
export function duplicatesOf(patient: Patient, found: readonly Patient[], config: BookingConfig): DuplicatePatients {
  const owner = ownerOf(patient, config);
  // If the service was the last to write a patient, no portal has touched it since it came with a booking.
  const isDuplicate = (other: Patient): boolean =>
    isByService(other.meta, config) &&
    isActivePatient(other) &&
    ownerOf(other, config) === owner &&
    hasCommonIdentifier(other.identifier, patient.identifier);
  const others = found.filter((other) => other.id !== patient.id && isDuplicate(other));
  const all = owner !== undefined && isDuplicate(patient) ? [patient, ...others] : [];
  const [oldest = patient, ...duplicates] = all.sort((one, other) => (age(one) < age(other) ? -1 : 1));
  return { oldest, duplicates };
}

/**
 * The transaction that merges a patient into the oldest of its duplicates. The Bot `handle-patient-change` then transfers
 * its appointments.
 *
 * @see https://hl7.org/fhir/R4/patient.html#links
 */
export function mergeTransaction(patient: Patient, oldest: Patient): Bundle {
  const link = [
    ...(patient.link ?? []),
    { other: { reference: `Patient/${oldest.id}` }, type: 'replaced-by' as const },
  ];
  const entry = [updateEntry(patient, { ...patient, active: false, link })];
  return { resourceType: 'Bundle', type: 'transaction', entry };
}
