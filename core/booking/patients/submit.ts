import type { Coding, Meta, Patient } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { boundIssues, identifierIssues, idIssues, personBounds } from '../../fhir/bounds.ts';
import { narrativeIssues } from '../../fhir/narrative/narrative.ts';
import { besides, type Issue } from '../../fhir/outcome/outcome.ts';
import { isReservedTag, withoutReserved } from '../../fhir/reserved.ts';
import { isObject } from '../../fhir/resource.ts';
import { metaOfSubmitted } from '../../fhir/tags.ts';
import { readStructure } from '../../fhir/types/structure.ts';
import { conditionalReferenceIssues, unsupportedIssues } from '../../fhir/unsupported.ts';
import type { Role } from '../policy/caller-role.ts';
import { withTrueClaims } from './conformance.ts';

interface Submitter {
  readonly profileId: string;
  /** Patients that staff submit belong to the clinic. */
  readonly role: Role;
}

type PatientResult = { readonly patient: Patient } | { readonly issues: readonly Issue[] };

/** Whether a value looks like a Patient: an object with that `resourceType`. */
export function isPatient(value: unknown): value is Patient {
  return isObject(value) && value.resourceType === 'Patient' && (value.meta === undefined || isObject(value.meta));
}

const notAPatient: Issue = {
  code: 'malformed-request',
  diagnostics: 'The body must be a Patient resource.',
  expression: 'Patient',
};

/** The types of the links by which two records are one person. */
const merges: ReadonlySet<unknown> = new Set(['replaced-by', 'replaces']);

const mergesOf = (patient: unknown): string =>
  JSON.stringify(
    (isObject(patient) && Array.isArray(patient.link) ? patient.link : []).filter(
      (one) => isObject(one) && merges.has(one.type),
    ),
  );

/**
 * Refuses a merge, or the undoing of one, by a requestor: only the clinic may do so. A merge transfers the appointments
 * of the replaced patient, and an export or an erasure treats both as one person.
 * @param sent - the patient, of any shape
 * @param stored - the patient that it replaces
 * @returns a `profile-violation` if the merge links differ
 */
export function mergeIssues(sent: unknown, path: string, stored?: Patient): readonly Issue[] {
  const diagnostics = 'Only the clinic can merge patients: leave links of type replaces and replaced-by unchanged.';
  return mergesOf(sent) === mergesOf(stored)
    ? []
    : [{ code: 'profile-violation', diagnostics, expression: `${path}.link` }];
}

function formIssues(patient: Patient): readonly Issue[] {
  const unsupported = unsupportedIssues(patient, 'Patient');
  const { issues: structure, codes } = readStructure(patient, 'Patient', 'Patient');
  return [
    ...conditionalReferenceIssues(patient, 'Patient'),
    ...besides(structure, unsupported),
    ...unsupported,
    ...codes,
    ...boundIssues(patient, personBounds, 'Patient'),
    ...identifierIssues(patient, 'Patient'),
  ];
}

/**
 * Checks a submitted patient. Elements that only the service may set are dropped, and so is a false claim to conform to
 * LocalPatient. A patient of a requestor gets its tags; only the clinic can merge patients.
 * @param body - the patient, of any shape
 * @see specification sections 2.2 and 4.6
 */
export function submittedPatient(body: unknown, { profileId, role }: Submitter, config: BookingConfig): PatientResult {
  const sent = withoutReserved(body, config);
  if (!isPatient(sent)) {
    return { issues: [notAPatient] };
  }
  const isRequestor = role === 'requestor';
  const merging = isRequestor ? mergeIssues(sent, 'Patient') : [];
  const issues = [...formIssues(sent), ...narrativeIssues(sent, 'Patient'), ...merging];
  if (issues.length > 0) {
    return { issues };
  }
  const patient = withTrueClaims(sent, config);
  return { patient: isRequestor ? { ...patient, meta: metaOfSubmitted(patient.meta, profileId, config) } : patient };
}

/**
 * The problems of a patient that replaces a stored one, as far as they do not depend on the stored one.
 * @param body - the patient, of any shape
 * @param id - the id in the URL of the request
 */
export function replacementIssues(body: unknown, id: string): readonly Issue[] {
  if (!isPatient(body)) {
    return [notAPatient];
  }
  return [...idIssues(body, id, 'Patient'), ...formIssues(body)];
}

/**
 * The `meta` of an updated patient. The tags of owner and origin stay as stored, so that a requestor keeps its patient
 * after an update by clinic staff. Other tags and profiles are taken from the request.
 * @param sent - `meta` of the request, of any shape
 * @param stored - `meta` of the stored patient
 * @see specification sections 2.1 and 2.2, meta.tag
 */
function metaOfUpdated(sent: Meta | undefined, stored: Meta | undefined, config: PublicConfig): Meta {
  const isOwnership = (tag: Coding | undefined): boolean => isReservedTag(tag, config);
  const sentTags = Array.isArray(sent?.tag) ? sent.tag : [];
  const tag = [...sentTags.filter((coding) => !isOwnership(coding)), ...(stored?.tag ?? []).filter(isOwnership)];
  const profile = Array.isArray(sent?.profile) ? sent.profile : [];
  return { ...(profile.length > 0 && { profile }), ...(tag.length > 0 && { tag }) };
}

/**
 * Checks a patient that replaces a stored one.
 * @param body - a patient without `replacementIssues`; elements that only the service may set are dropped
 * @param stored - the patient as the caller reads it, if it could be read
 * @see specification 4.6
 */
export function updatedPatient(
  body: unknown,
  stored: Patient | undefined,
  { role }: Submitter,
  config: BookingConfig,
): PatientResult {
  const sent = withoutReserved(body, config);
  if (!isPatient(sent)) {
    return { issues: [notAPatient] };
  }
  const merging = stored && role === 'requestor' ? mergeIssues(sent, 'Patient', stored) : [];
  const issues = [...narrativeIssues(sent, 'Patient', stored), ...merging];
  return issues.length > 0
    ? { issues }
    : { patient: { ...sent, meta: metaOfUpdated(withTrueClaims(sent, config).meta, stored?.meta, config) } };
}
