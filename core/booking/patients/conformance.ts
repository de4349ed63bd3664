import type { Address, ContactPoint, Extension, HumanName, Identifier, Patient } from '@medplum/fhirtypes';
import type { BookingConfig, IdentifierSlice, PatientRules } from '../../config/config.ts';
import { artefactUri } from '../../fhir/artefacts.ts';
import { isObject } from '../../fhir/resource.ts';

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

/** The forbidden parts of a line, by the type of the address. */
const foreignParts: Readonly<Partial<Record<NonNullable<Address['type']>, readonly string[]>>> = {
  both: [POST_BOX],
  postal: streetParts,
};

const hasType = ({ type }: Identifier, { system, code }: IdentifierSlice['type']): boolean =>
  type?.coding?.some((coding) => coding.system === system && coding.code === code) ?? false;

/**
 * Whether an identifier has an assigner with a display. If the assigner has an identifier, it must be of the right
 * kind.
 */
function isAssigned({ assigner }: Identifier, { system, type }: NonNullable<IdentifierSlice['assigner']>): boolean {
  const { display, identifier } = assigner ?? {};
  const isNumber = !identifier || (identifier.system === system && identifier.value && hasType(identifier, type));
  return Boolean(display && isNumber);
}

function isOfSlice(identifier: Identifier, { system, use, assigner }: IdentifierSlice): boolean {
  return Boolean(
    identifier.value &&
      (assigner ? isAssigned(identifier, assigner) : identifier.system) &&
      (!system || identifier.system === system) &&
      (!use || (identifier.use ?? use) === use),
  );
}

function areIdentified(identifiers: readonly Identifier[], slices: readonly IdentifierSlice[]): boolean {
  return slices.every((slice) => {
    const own = identifiers.filter((identifier) => hasType(identifier, slice.type));
    const isThere = slice.isRequired ? own.length > 0 : own.length <= 1;
    return isThere && own.every((identifier) => isOfSlice(identifier, slice));
  });
}

function hasRightPrefixes(name: HumanName): boolean {
  return extensionsOf(name, 'prefix').every((extensions, index) => {
    const qualifiers = extensions.filter(({ url }) => url === QUALIFIER);
    return qualifiers.length <= 1 && qualifiers.every(({ valueCode }) => valueCode === 'AC' && name.prefix?.[index]);
  });
}

/** Whether there is exactly one official name, and at most one maiden name with only a family name. */
function isNamed(names: readonly HumanName[]): boolean {
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

const isReachable = (telecom: readonly ContactPoint[]): boolean =>
  telecom.every(({ system, value }) => system && value);

/** Whether an address of a street or a post box is complete. Other types are not checked. */
function isComplete(address: Address): boolean {
  const { type, line = [], city, postalCode, country, district } = address;
  const foreign = type && foreignParts[type];
  const parts = extensionsOf(address, 'line');
  return (
    !foreign ||
    (Boolean(line.length > 0 && line.length <= 3 && city && postalCode && country && !district) &&
      parts.every((extensions) => foreign.every((url) => countOf(extensions, url) === 0)) &&
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

const isBorn = (patient: Patient): boolean =>
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
    (areIdentified(identifier, rules.identifiers) &&
      isNamed(name) &&
      isReachable(telecom) &&
      hasRightGender(patient, rules.officialGender) &&
      isBorn(patient) &&
      address.every(isComplete))
  );
}

/** Removes a false claim to conform to LocalPatient. Other claims stay. */
export function withTrueClaims(patient: Patient, config: BookingConfig): Patient {
  const own = artefactUri(config, 'LocalPatient');
  const { profile = [], ...others } = patient.meta ?? {};
  const kept = profile.filter((one) => one.split('|')[0] !== own);
  if (kept.length === profile.length || conformsToProfile(patient, config)) {
    return patient;
  }
  const { meta: _, ...unclaimed } = patient;
  const meta = { ...others, ...(kept.length > 0 && { profile: kept }) };
  return { ...unclaimed, ...(Object.keys(meta).length > 0 && { meta }) };
}
