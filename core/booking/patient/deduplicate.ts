import type { Bundle, BundleEntry, Patient, Resource } from '@medplum/fhirtypes';
import type { TagConfig } from '../../fhir/tags.ts';
import { requestorTag } from '../../fhir/tags.ts';
import { hasCommonIdentifier, isActivePatient } from '../book/resolve-participants.ts';

/** Whether a Bot has written a patient last: then no portal has touched it since it came with a booking. */
function isByBot({ meta }: Patient): boolean {
  return meta?.author?.reference?.startsWith('Bot/') ?? false;
}

/** The id of the requestor that has submitted a resource, if one has. */
export function submitterOf({ meta }: Resource, config: TagConfig): string | undefined {
  const { system } = requestorTag('', config);
  return meta?.tag?.find((tag) => tag.system === system)?.code;
}

const age = ({ id, meta }: Patient): string => `${meta?.lastUpdated ?? ''} ${id ?? ''}`;

/** Patients that are one person: the eldest, and those that came into being beside it. */
export interface DuplicatePatients {
  readonly elder: Patient;
  readonly younger: readonly Patient[];
}

/**
 * The twins of a patient that came with a booking. Two first bookings at the same moment, for the same new patient of
 * the same requestor, make it twice; of those the eldest stays. What a portal has submitted or changed by itself is
 * nobody's twin.
 *
 * @param patient - one of them
 * @param found - the patients of its requestor with one of its identifiers
 */
export function duplicatesOf(patient: Patient, found: readonly Patient[], config: TagConfig): DuplicatePatients {
  const owner = submitterOf(patient, config);
  const isTwin = (other: Patient): boolean =>
    isByBot(other) &&
    isActivePatient(other) &&
    submitterOf(other, config) === owner &&
    hasCommonIdentifier(other.identifier, patient.identifier);
  const others = found.filter((other) => other.id !== patient.id && isTwin(other));
  const all = owner !== undefined && isTwin(patient) ? [patient, ...others] : [patient];
  const [elder = patient, ...younger] = all.sort((one, other) => (age(one) < age(other) ? -1 : 1));
  return { elder, younger };
}

/**
 * The transaction that merges a patient into the eldest of its twins. Its appointments are handed on by whoever follows patients.
 *
 * @see https://hl7.org/fhir/R4/patient.html#links
 */
export function mergeTransaction(patient: Patient, elder: Patient): Bundle {
  const link = [...(patient.link ?? []), { other: { reference: `Patient/${elder.id}` }, type: 'replaced-by' as const }];
  const entry: BundleEntry = {
    request: { method: 'PUT', url: `Patient/${patient.id}`, ifMatch: `W/"${patient.meta?.versionId}"` },
    resource: { ...patient, active: false, link },
  };
  return { resourceType: 'Bundle', type: 'transaction', entry: [entry] };
}
