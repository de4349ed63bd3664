import type {
  Address,
  Coding,
  ContactPoint,
  Extension,
  HumanName,
  Identifier,
  Meta,
  Patient,
} from '@medplum/fhirtypes';
import type { BookingConfig, IdentifierSlice, PatientRules } from '../../config/config.ts';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import {
  boundIssues,
  conditionalReferenceIssues,
  identifierIssues,
  idIssues,
  personBounds,
  unsupportedIssues,
} from '../../fhir/bounds.ts';
import { narrativeIssues } from '../../fhir/narrative/narrative.ts';
import { besides, type Issue } from '../../fhir/outcome/outcome.ts';
import { isObject } from '../../fhir/resource.ts';
import { isReservedTag, metaOfSubmitted, withoutReserved } from '../../fhir/tags.ts';
import { readStructure } from '../../fhir/types/structure.ts';
import type { Role } from '../policy/caller-rights.ts';

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

function structureIssues(patient: Patient): readonly Issue[] {
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
  const issues = [...structureIssues(sent), ...narrativeIssues(sent, 'Patient'), ...merging];
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
  return [...idIssues(body, id, 'Patient'), ...structureIssues(body)];
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
 * @param body - has passed `replacementIssues`; elements that only the service may set are dropped
 * @param stored - the patient as the caller reads it
 * @returns the patient to store, with the owner's tags as stored, or the issues
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

/** The extensions of a primitive element, entry by entry: FHIR's JSON keeps them in a separate property. */
function extensionsOf(holder: object, name: string): readonly (readonly Extension[])[] {
  const beside: unknown = new Map<string, unknown>(Object.entries(holder)).get(`_${name}`);
  return (Array.isArray(beside) ? beside : [beside]).map((one: unknown) =>
    isObject(one) && Array.isArray(one.extension) ? one.extension : [],
  );
}

const countOf = (extensions: readonly Extension[], url: string): number =>
  extensions.filter((extension) => extension.url === url).length;

const ofFhir = 'http://hl7.org/fhir/StructureDefinition';
const ABSENT = `${ofFhir}/data-absent-reason`;
const QUALIFIER = `${ofFhir}/iso21090-EN-qualifier`;
const POST_BOX = `${ofFhir}/iso21090-ADXP-postBox`;
const streetParts = ['streetName', 'houseNumber', 'additionalLocator'].map((part) => `${ofFhir}/iso21090-ADXP-${part}`);

/** The extensions of an address line that an address of this type must not have. */
const excludedParts: Readonly<Partial<Record<NonNullable<Address['type']>, readonly string[]>>> = {
  both: [POST_BOX],
  postal: streetParts,
};

const hasType = ({ type }: Identifier, { system, code }: IdentifierSlice['type']): boolean =>
  type?.coding?.some((coding) => coding.system === system && coding.code === code) ?? false;

/** Whether an identifier has an assigner with a display. An identifier of the assigner must be of the right kind. */
function hasRightAssigner(
  { assigner }: Identifier,
  { system, type }: NonNullable<IdentifierSlice['assigner']>,
): boolean {
  const { display, identifier } = assigner ?? {};
  const isNumber = !identifier || (identifier.system === system && identifier.value && hasType(identifier, type));
  return Boolean(display && isNumber);
}

function fitsSlice(identifier: Identifier, { system, use, assigner }: IdentifierSlice): boolean {
  return Boolean(
    identifier.value &&
      (assigner ? hasRightAssigner(identifier, assigner) : identifier.system) &&
      (!system || identifier.system === system) &&
      (!use || (identifier.use ?? use) === use),
  );
}

/** Whether each required slice has an identifier, each other slice at most one, and all of them fit. */
function haveRightIdentifiers(identifiers: readonly Identifier[], slices: readonly IdentifierSlice[]): boolean {
  return slices.every((slice) => {
    const ofType = identifiers.filter((identifier) => hasType(identifier, slice.type));
    const isThere = slice.isRequired ? ofType.length > 0 : ofType.length <= 1;
    return isThere && ofType.every((identifier) => fitsSlice(identifier, slice));
  });
}

function hasRightPrefixes(name: HumanName): boolean {
  return extensionsOf(name, 'prefix').every((extensions, index) => {
    const qualifiers = extensions.filter(({ url }) => url === QUALIFIER);
    return qualifiers.length <= 1 && qualifiers.every(({ valueCode }) => valueCode === 'AC' && name.prefix?.[index]);
  });
}

/** Whether there is exactly one official name (family and given), and at most one maiden name (family only). */
function hasRightNames(names: readonly HumanName[]): boolean {
  const [official, second] = names.filter(({ use }) => use === 'official');
  const maiden = names.filter(({ use }) => use === 'maiden');
  return Boolean(
    official?.family &&
      official.given?.length &&
      hasRightPrefixes(official) &&
      !second &&
      maiden.length <= 1 &&
      maiden.every(({ family, given, prefix }) => family && !given && !prefix),
  );
}

const areCompleteContacts = (telecom: readonly ContactPoint[]): boolean =>
  telecom.every(({ system, value }) => system && value);

/** Whether an address of type `both` or `postal` is complete. Other types are not checked. */
function isCompleteAddress(address: Address): boolean {
  const { type, line = [], city, postalCode, country, district } = address;
  const excluded = type && excludedParts[type];
  const parts = extensionsOf(address, 'line');
  return (
    !excluded ||
    (Boolean(line.length > 0 && line.length <= 3 && city && postalCode && country && !district) &&
      parts.every((extensions) => excluded.every((url) => countOf(extensions, url) === 0)) &&
      parts.every((extensions, index) =>
        [POST_BOX, ...streetParts].every((url) => countOf(extensions, url) <= (line[index] ? 1 : 0)),
      ))
  );
}

/** Whether the gender `other`, and no other gender, has an official code. */
function hasRightGender(patient: Patient, { url, system, codes }: PatientRules['officialGender']): boolean {
  const official = extensionsOf(patient, 'gender')
    .flat()
    .filter((extension) => extension.url === url);
  const isRight = official.every(
    ({ valueCoding }) => valueCoding?.system === system && codes.includes(valueCoding.code ?? ''),
  );
  return Boolean(patient.gender && isRight && official.length === (patient.gender === 'other' ? 1 : 0));
}

const hasBirthDate = (patient: Patient): boolean =>
  Boolean(patient.birthDate) && countOf(extensionsOf(patient, 'birthDate').flat(), ABSENT) === 0;

/**
 * Whether a patient conforms to the profile LocalPatient. A provisional patient may lack elements: it is accepted, but
 * does not claim the profile.
 * @param patient - as submitted
 */
export function conformsToProfile(patient: Patient, { patientRules: rules }: BookingConfig): boolean {
  const { identifier = [], name = [], telecom = [], address = [] } = patient;
  return (
    !rules ||
    (haveRightIdentifiers(identifier, rules.identifiers) &&
      hasRightNames(name) &&
      areCompleteContacts(telecom) &&
      hasRightGender(patient, rules.officialGender) &&
      hasBirthDate(patient) &&
      address.every(isCompleteAddress))
  );
}

/** Removes a false claim to conform to LocalPatient. Other claims stay. */
export function withTrueClaims(patient: Patient, config: BookingConfig): Patient {
  const claimed = artefactUri(config, 'LocalPatient');
  const { profile = [], ...others } = patient.meta ?? {};
  const kept = profile.filter((one) => one.split('|')[0] !== claimed);
  if (kept.length === profile.length || conformsToProfile(patient, config)) {
    return patient;
  }
  const { meta: _, ...unclaimed } = patient;
  const meta = { ...others, ...(kept.length > 0 && { profile: kept }) };
  return { ...unclaimed, ...(Object.keys(meta).length > 0 && { meta }) };
}
