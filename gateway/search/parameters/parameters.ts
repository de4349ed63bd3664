import type { ResourceType } from '@medplum/fhirtypes';
import type { ServedTypeName } from '../../served-types.ts';

/** A period that is compared with a date: its element, and the part of it: the whole, its start, or its end. */
export interface SearchedPeriod {
  readonly element: 'period' | 'planningHorizon' | 'effectivePeriod';
  readonly part: 'whole' | 'start' | 'end';
}

/** A search parameter: its FHIR type, and for references the types of the service that it can lead to. */
export interface SearchParameterEntry {
  readonly type: 'token' | 'date' | 'string' | 'uri' | 'reference' | 'composite';
  readonly targets?: readonly ServedTypeName[];
  /** The name under which Medplum knows the parameter, if it is a different one. */
  readonly upstreamName?: string;
  /** The code system that FHIR defines for an element that is a plain code or boolean. */
  readonly codeSystem?: string;
  /** For a token: whether its element is a boolean. */
  readonly isBoolean?: boolean;
  /** For a string: whether Medplum searches it word by word, as it does names and addresses of people. */
  readonly isWords?: boolean;
  /** For a date: whether its element has no times. */
  readonly isWholeDay?: boolean;
  /** For a date: the period that it compares; Medplum does not know the end of a period. */
  readonly period?: SearchedPeriod;
  /** For a reference that leads out of the service: its target type, which cannot be read or included. */
  readonly outside?: ResourceType;
  /** Whether it looks for payer kinds in the extension LocalPayerKind, which Medplum does not search. */
  readonly isPayerKind?: boolean;
  /** The canonical URL of its definition, if FHIR R4 does not define it. */
  readonly definition?: string;
  /** The modifiers that it can carry, if Medplum understands fewer than those of its type. */
  readonly modifiers?: readonly string[];
}

const token: SearchParameterEntry = { type: 'token' };
const code = (codeSystem: string): SearchParameterEntry => ({ type: 'token', codeSystem });
const boolean: SearchParameterEntry = {
  ...code('http://terminology.hl7.org/CodeSystem/special-values'),
  isBoolean: true,
  modifiers: ['not', 'missing'],
};
const gender = code('http://hl7.org/fhir/administrative-gender');
const date: SearchParameterEntry = { type: 'date' };
const string: SearchParameterEntry = { type: 'string' };
/** A part of names or addresses: Medplum takes the value of `:missing` for such a part, and finds nothing. */
const part: SearchParameterEntry = { type: 'string', isWords: true, modifiers: ['exact', 'contains'] };
const payerKind: SearchParameterEntry = { type: 'token', isPayerKind: true, modifiers: [] };
const uri: SearchParameterEntry = { type: 'uri' };
const composite: SearchParameterEntry = { type: 'composite' };
const reference = (...targets: ServedTypeName[]): SearchParameterEntry => ({ type: 'reference', targets });

const period = (element: SearchedPeriod['element']): SearchParameterEntry => ({
  type: 'date',
  period: { element, part: 'whole' },
});

/** A search parameter of FHIR R5, which compares one end of the period of an encounter. */
const encounterDate = (part: SearchedPeriod['part'], name: string): SearchParameterEntry => ({
  type: 'date',
  period: { element: 'period', part },
  definition: `http://hl7.org/fhir/SearchParameter/Encounter-${name}`,
});

const actors = ['Patient', 'Practitioner', 'PractitionerRole', 'HealthcareService', 'Location'] as const;

const address = {
  address: part,
  'address-city': part,
  'address-country': part,
  'address-postalcode': part,
  'address-state': part,
} as const;

const offer = { 'service-category': token, 'service-type': token, specialty: token } as const;

const canonical = {
  url: uri,
  version: token,
  name: string,
  title: string,
  status: code('http://hl7.org/fhir/publication-status'),
  publisher: string,
  description: string,
  date,
  jurisdiction: token,
  context: token,
  'context-type': token,
  'context-type-value': composite,
} as const;

/** Parameters of every resource type (https://hl7.org/fhir/R4/search.html#all). */
export const commonSearchParameters: Readonly<Record<string, SearchParameterEntry>> = {
  _id: token,
  _lastUpdated: date,
  _tag: token,
  _profile: uri,
};

/**
 * The search parameters of each resource type: those of FHIR R4 that Medplum carries out and that cannot be followed out
 * of the service. Anything else is refused with 400, because a filter that is silently ignored shows more than was asked
 * for.
 *
 * @see https://hl7.org/fhir/R4/searchparameter-registry.html
 */
export const searchParameters: Readonly<Record<ServedTypeName, Readonly<Record<string, SearchParameterEntry>>>> = {
  Appointment: {
    ...offer,
    actor: reference(...actors, 'RelatedPerson'),
    'appointment-type': token,
    date,
    identifier: token,
    location: reference('Location'),
    'part-status': code('http://hl7.org/fhir/participationstatus'),
    patient: reference('Patient'),
    practitioner: reference('Practitioner'),
    'reason-code': token,
    slot: reference('Slot'),
    status: code('http://hl7.org/fhir/appointmentstatus'),
    'supporting-info': reference('QuestionnaireResponse'),
  },
  Patient: {
    ...address,
    active: boolean,
    birthdate: { type: 'date', isWholeDay: true },
    'death-date': date,
    deceased: boolean,
    email: token,
    family: part,
    gender,
    'general-practitioner': reference('Organization', 'Practitioner', 'PractitionerRole'),
    given: part,
    identifier: token,
    language: token,
    link: reference('Patient'),
    name: part,
    organization: reference('Organization'),
    phone: token,
    telecom: token,
  },
  Slot: {
    ...offer,
    'appointment-type': token,
    identifier: token,
    'payer-kind': payerKind,
    schedule: reference('Schedule'),
    start: date,
    status: code('http://hl7.org/fhir/slotstatus'),
  },
  Schedule: {
    ...offer,
    active: boolean,
    actor: reference(...actors),
    date: period('planningHorizon'),
    identifier: token,
  },
  HealthcareService: {
    ...offer,
    active: boolean,
    characteristic: token,
    'coverage-area': reference('Location'),
    identifier: token,
    location: reference('Location'),
    name: string,
    organization: reference('Organization'),
    'payer-kind': payerKind,
    program: token,
    // In R4 `service-type` searches the element `type`; the specification (4.3) names the parameter after the element.
    type: { type: 'token', upstreamName: 'service-type' },
  },
  CodeSystem: {
    ...canonical,
    code: token,
    'content-mode': code('http://hl7.org/fhir/codesystem-content-mode'),
    identifier: token,
    language: token,
    supplements: reference('CodeSystem'),
    system: uri,
  },
  ValueSet: { ...canonical, code: token, identifier: token, reference: uri },
  Practitioner: {
    ...address,
    active: boolean,
    communication: token,
    email: token,
    family: part,
    gender,
    given: part,
    identifier: token,
    name: part,
    phone: token,
    telecom: token,
  },
  PractitionerRole: {
    active: boolean,
    date: period('period'),
    email: token,
    identifier: token,
    location: reference('Location'),
    organization: reference('Organization'),
    phone: token,
    practitioner: reference('Practitioner'),
    role: token,
    service: reference('HealthcareService'),
    specialty: token,
    telecom: token,
  },
  Location: {
    ...address,
    identifier: token,
    name: string,
    'operational-status': token,
    organization: reference('Organization'),
    partof: reference('Location'),
    status: code('http://hl7.org/fhir/location-status'),
    type: token,
  },
  Organization: {
    ...address,
    active: boolean,
    identifier: token,
    name: string,
    partof: reference('Organization'),
    type: token,
  },
  Questionnaire: {
    ...canonical,
    code: token,
    effective: period('effectivePeriod'),
    identifier: token,
    'subject-type': code('http://hl7.org/fhir/resource-types'),
  },
  QuestionnaireResponse: {
    author: reference('Organization', 'Patient', 'Practitioner', 'PractitionerRole'),
    authored: date,
    identifier: token,
    patient: reference('Patient'),
    questionnaire: reference('Questionnaire'),
    source: reference('Patient', 'Practitioner', 'PractitionerRole'),
    status: code('http://hl7.org/fhir/questionnaire-answers-status'),
    subject: reference('Patient', 'Appointment'),
  },
  Encounter: {
    account: { type: 'reference', outside: 'Account' },
    appointment: reference('Appointment'),
    class: token,
    date: period('period'),
    'date-start': encounterDate('start', 'date-start'),
    'end-date': encounterDate('end', 'end-date'),
    identifier: token,
    location: reference('Location'),
    patient: reference('Patient'),
    'service-provider': reference('Organization'),
    status: code('http://hl7.org/fhir/encounter-status'),
    subject: reference('Patient'),
    type: token,
  },
  RelatedPerson: {
    ...address,
    active: boolean,
    identifier: token,
    name: part,
    patient: reference('Patient'),
    phone: token,
    telecom: token,
  },
  Subscription: {
    criteria: string,
    payload: token,
    status: code('http://hl7.org/fhir/subscription-status'),
    type: token,
    url: uri,
  },
};

/** The modifiers that each type of parameter can carry, besides `:Type` on references. */
const searchModifiers: Readonly<Record<SearchParameterEntry['type'], readonly string[]>> = {
  token: ['not', 'missing', 'text'],
  date: ['missing'],
  string: ['exact', 'contains', 'missing'],
  uri: ['missing'],
  reference: ['missing', 'identifier'],
  composite: [],
};

/** The modifiers that a parameter can carry, besides `:Type` on references. */
export const modifiersOf = ({ type, modifiers }: SearchParameterEntry): readonly string[] =>
  modifiers ?? searchModifiers[type];

/**
 * Looks up a search parameter.
 *
 * @param name - without modifier
 */
export function searchParameter(type: ServedTypeName, name: string): SearchParameterEntry | undefined {
  const own = searchParameters[type];
  return Object.hasOwn(own, name)
    ? own[name]
    : Object.hasOwn(commonSearchParameters, name)
      ? commonSearchParameters[name]
      : undefined;
}
