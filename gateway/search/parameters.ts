import type { ServedTypeName } from '../served-types.ts';

/** A search parameter: its FHIR type, and for references the types of the service that it can lead to. */
export interface SearchParameterEntry {
  readonly type: 'token' | 'date' | 'string' | 'uri' | 'reference' | 'composite';
  readonly targets?: readonly ServedTypeName[];
  /** The name under which Medplum knows the parameter, if it is another. */
  readonly upstreamName?: string;
  /** Of a date: whether its element knows no times. */
  readonly isWholeDay?: boolean;
}

const token: SearchParameterEntry = { type: 'token' };
const date: SearchParameterEntry = { type: 'date' };
const string: SearchParameterEntry = { type: 'string' };
const uri: SearchParameterEntry = { type: 'uri' };
const composite: SearchParameterEntry = { type: 'composite' };
const reference = (...targets: ServedTypeName[]): SearchParameterEntry => ({ type: 'reference', targets });

const actor = reference('Patient', 'Practitioner', 'PractitionerRole', 'HealthcareService', 'Location');

const address = {
  address: string,
  'address-city': string,
  'address-country': string,
  'address-postalcode': string,
  'address-state': string,
} as const;

const offer = { 'service-category': token, 'service-type': token, specialty: token } as const;

const canonical = {
  url: uri,
  version: token,
  name: string,
  title: string,
  status: token,
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
 * The search parameters of each resource type: those of FHIR R4 that Medplum carries out and that lead nowhere else.
 * Anything else is refused with 400, because a filter passed over in silence shows more than was asked for.
 *
 * @see https://hl7.org/fhir/R4/searchparameter-registry.html
 */
export const searchParameters: Readonly<Record<ServedTypeName, Readonly<Record<string, SearchParameterEntry>>>> = {
  Appointment: {
    ...offer,
    actor,
    'appointment-type': token,
    date,
    identifier: token,
    location: reference('Location'),
    'part-status': token,
    patient: reference('Patient'),
    practitioner: reference('Practitioner'),
    'reason-code': token,
    slot: reference('Slot'),
    status: token,
    'supporting-info': reference('QuestionnaireResponse'),
  },
  Patient: {
    ...address,
    active: token,
    birthdate: { type: 'date', isWholeDay: true },
    'death-date': date,
    deceased: token,
    email: token,
    family: string,
    gender: token,
    'general-practitioner': reference('Organization', 'Practitioner', 'PractitionerRole'),
    given: string,
    identifier: token,
    language: token,
    link: reference('Patient'),
    name: string,
    organization: reference('Organization'),
    phone: token,
    telecom: token,
  },
  Slot: {
    ...offer,
    'appointment-type': token,
    identifier: token,
    schedule: reference('Schedule'),
    start: date,
    status: token,
  },
  Schedule: { ...offer, active: token, actor, date, identifier: token },
  HealthcareService: {
    ...offer,
    active: token,
    characteristic: token,
    'coverage-area': reference('Location'),
    identifier: token,
    location: reference('Location'),
    name: string,
    organization: reference('Organization'),
    program: token,
    // R4 knows the element `type` by this parameter; the specification (4.3) names it after the element.
    type: { type: 'token', upstreamName: 'service-type' },
  },
  CodeSystem: {
    ...canonical,
    code: token,
    'content-mode': token,
    identifier: token,
    language: token,
    supplements: reference('CodeSystem'),
    system: uri,
  },
  ValueSet: { ...canonical, code: token, identifier: token, reference: uri },
  Practitioner: {
    ...address,
    active: token,
    communication: token,
    email: token,
    family: string,
    gender: token,
    given: string,
    identifier: token,
    name: string,
    phone: token,
    telecom: token,
  },
  PractitionerRole: {
    active: token,
    date,
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
    status: token,
    type: token,
  },
  Organization: {
    ...address,
    active: token,
    identifier: token,
    name: string,
    partof: reference('Organization'),
    type: token,
  },
  Questionnaire: { ...canonical, code: token, effective: date, identifier: token, 'subject-type': token },
  QuestionnaireResponse: {
    author: reference('Organization', 'Patient', 'Practitioner', 'PractitionerRole'),
    authored: date,
    identifier: token,
    patient: reference('Patient'),
    questionnaire: reference('Questionnaire'),
    source: reference('Patient', 'Practitioner', 'PractitionerRole'),
    status: token,
    subject: reference('Patient', 'Appointment'),
  },
  Subscription: { criteria: string, payload: token, status: token, type: token, url: uri },
};

/** The modifiers that each type of parameter can carry, besides `:Type` on references. */
export const searchModifiers: Readonly<Record<SearchParameterEntry['type'], readonly string[]>> = {
  token: ['not', 'missing', 'text'],
  date: ['missing'],
  string: ['exact', 'contains', 'missing'],
  uri: ['missing'],
  reference: ['missing'],
  composite: [],
};

/**
 * Looks a search parameter up.
 *
 * @param type - resource type that is searched
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
