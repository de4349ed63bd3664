import type { Appointment, BundleEntry, Identifier, Patient } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { idIn } from '../../fhir/reference.ts';
import { updateEntry } from '../../fhir/resource.ts';
import { isByService, ownerOf } from '../../fhir/tags.ts';
import { normalized } from '../../fhir/unicode.ts';
import { findResource, type ResourceSet } from '../../rows/resource-set.ts';
import { identifierQuery, type SearchQuery } from '../../rows/search.ts';

/**
 * Whether appointments can be made for a patient: not marked inactive, and not merged into another one.
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

const letters = (text = ''): string =>
  normalized(text, 'NFKD')
    .replace(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase();

/** The birth date with each name, reduced to letters and digits without accents. */
function namesOf({ name = [], birthDate }: Patient): Set<string> {
  const names = name.map(({ family, given }) => `${letters(family)} ${letters(given?.join(''))}`);
  return new Set(birthDate ? names.filter((one) => one !== ' ').map((one) => `${birthDate} ${one}`) : []);
}

/**
 * Whether two records are one person: within one portal, if they share an identifier, or name and birth date. Records of
 * two portals are two persons until the clinic merges them, because a portal may send identifiers of anybody.
 */
export function isSamePerson(patient: Patient, other: Patient, config: PublicConfig): boolean {
  if (patient.id !== undefined && patient.id === other.id) {
    return true;
  }
  if (ownerOf(patient, config) !== ownerOf(other, config)) {
    return false;
  }
  const names = namesOf(other);
  return (
    hasCommonIdentifier(patient.identifier, other.identifier) || [...namesOf(patient)].some((name) => names.has(name))
  );
}

/** Whether a person is a patient of an appointment. `found` must contain its patients. */
export const isForPerson = (
  { participant }: Appointment,
  person: Patient,
  found: ResourceSet,
  config: PublicConfig,
): boolean =>
  participant.some(({ actor }) => {
    const id = idIn(actor, 'Patient');
    const patient = id && findResource(found, 'Patient', id);
    return id !== undefined && (id === person.id || (patient && isSamePerson(patient, person, config)));
  });

/** The searches for appointments that together find those of all records of a person. */
export function personQueries({ id, identifier, birthDate = '' }: Patient): SearchQuery[] {
  const [tokens] = identifierQuery(identifier, '') ?? [];
  return [
    ...(id ? [[['patient', `Patient/${id}`]] as const] : []),
    ...(tokens ? [[['patient.identifier', tokens[1]]] as const] : []),
    // A year or a month would find too many.
    ...(birthDate.length === 'yyyy-mm-dd'.length ? [[['patient.birthdate', birthDate]] as const] : []),
  ];
}

/** Name and birth date. Two people can share an identifier, such as the number of an insurance policy. */
const personIn = ({ name = [], birthDate }: Patient): string =>
  JSON.stringify([birthDate, ...name.map(({ family, given }) => [family, given])]);

interface DuplicatePatients {
  readonly survivor: Patient;
  readonly duplicates: readonly Patient[];
}

/**
 * Finds the duplicates of a patient that was created with a booking. Two simultaneous bookings for the same new patient
 * of the same requestor create it twice. The record with the lowest id stays: no write changes that order, so that no
 * two jobs merge two records into each other. A patient that a portal has created or changed directly is not a
 * duplicate.
 * @param patient - one of the records
 * @param found - the patients of its requestor with one of its identifiers
 */
export function duplicatesOf(patient: Patient, found: readonly Patient[], config: BookingConfig): DuplicatePatients {
  const owner = ownerOf(patient, config);
  // If the service was the last author of a patient, no portal has changed it since its booking.
  const isDuplicate = (other: Patient): boolean =>
    isByService(other.meta, config) &&
    isActivePatient(other) &&
    ownerOf(other, config) === owner &&
    personIn(other) === personIn(patient) &&
    hasCommonIdentifier(other.identifier, patient.identifier);
  const others = found.filter((other) => other.id !== patient.id && isDuplicate(other));
  const patients = owner !== undefined && isDuplicate(patient) ? [patient, ...others] : [];
  const [survivor = patient, ...duplicates] = patients.sort((one, other) =>
    (one.id ?? '') < (other.id ?? '') ? -1 : 1,
  );
  return { survivor, duplicates };
}

/**
 * The transaction that merges duplicates into the survivor, if none of them has changed. The Bot
 * `handle-patient-change` then transfers their appointments.
 * @see https://hl7.org/fhir/R4/patient.html#links
 */
export function mergeEntries({ survivor, duplicates }: DuplicatePatients): BundleEntry[] {
  const link = { other: { reference: `Patient/${survivor.id}` }, type: 'replaced-by' as const };
  return [
    ...duplicates.map((patient) =>
      updateEntry(patient, { ...patient, active: false, link: [...(patient.link ?? []), link] }),
    ),
    // An unchanged update, which only asserts the version that was read.
    updateEntry(survivor, survivor),
  ];
}
