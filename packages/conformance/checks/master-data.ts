import { asking, type Check, fromStage5 } from '../check.ts';
import { has, hasNot, leadsTo, status } from '../expectation.ts';
import type { Need } from '../preparation/needs.ts';
import { countCheck, type Search, searchCheck } from './searches.ts';

/** Searches for the patient or the stay that was prepared. */
const ofPatients: readonly Search[] = [
  { by: 'id', query: '_id={patient.id}', all: "id = '{patient.id}'", scenario: 'Search for Patient by ID' },
  {
    by: 'identifier',
    query: 'identifier={patient.identifier.0.system}%7C{patient.identifier.0.value}',
    all: "identifier.where(value = '{patient.identifier.0.value}').exists()",
    scenario: 'Search for Patient by identifier',
  },
  {
    by: 'family',
    query: 'family={patient.name.0.family}',
    all: "name.family.where($this.startsWith('{patient.name.0.family}')).exists()",
    scenario: 'Search for Patient with parameter family',
  },
  {
    by: 'given',
    query: 'given={patient.name.0.given.0}',
    all: "name.given.where($this.startsWith('{patient.name.0.given.0}')).exists()",
    scenario: 'Search for Patient by first name',
  },
  {
    by: 'birthdate',
    query: 'birthdate={patient.birthDate}',
    all: 'birthDate = @{patient.birthDate}',
    scenario: 'Search for Patient by date of birth',
  },
  {
    by: 'gender',
    query: 'gender={patient.gender}',
    all: "gender = '{patient.gender}'",
    scenario: 'Search for Patient by gender',
  },
];

const start = '2026-01-06T00:00:00+01:00';

const ofEncounters: readonly Search[] = [
  { by: 'id', query: '_id={stay.id}', all: "id = '{stay.id}'", scenario: 'Search for the encounter by ID' },
  {
    by: 'identifier',
    query: 'identifier={stay.identifier.0.system}%7C{stay.identifier.0.value}',
    all: "identifier.where(value = '{stay.identifier.0.value}').exists()",
    scenario: 'Search for the Encounter by Admission Identifier',
  },
  {
    by: 'system-of-identifier',
    query: 'identifier={stay.identifier.0.system}%7C',
    all: "identifier.where(system = '{stay.identifier.0.system}').exists()",
    scenario: 'Search for the Encounter by identifier.system',
  },
  {
    by: 'status',
    query: 'status=finished',
    all: "status = 'finished'",
    scenario: 'Search for the Encounter by Status',
  },
  {
    by: 'class',
    query: 'class=http://terminology.hl7.org/CodeSystem/v3-ActCode%7CIMP',
    all: "class.where(code = 'IMP' and system = 'http://terminology.hl7.org/CodeSystem/v3-ActCode').exists()",
    scenario: 'Search for the Encounter by Class',
  },
  {
    by: 'type',
    query: 'type=http://fhir.de/CodeSystem/kontaktart-de%7Cnormalstationaer',
    all: "type.coding.where(code = 'normalstationaer' and system = 'http://fhir.de/CodeSystem/kontaktart-de').exists()",
    scenario: 'Search for the Encounter by Type',
  },
  {
    by: 'patient',
    query: 'patient={patient.id}',
    all: `subject.${leadsTo('{patient}')}`,
    scenario: 'Search for the Encounter by Patient ID',
  },
  {
    by: 'account',
    query: 'account={stay.account.0.reference}',
    all: `account.where(${leadsTo('{stay.account.0.reference}')}).exists()`,
    scenario: 'Search for the Encounter by Account ID',
  },
  {
    by: 'identifier-of-account',
    query: 'account:identifier={stay.account.0.identifier.system}%7C{stay.account.0.identifier.value}',
    all: `account.where(${leadsTo('{stay.account.0.reference}')}).exists()`,
    scenario: 'Search for the Encounter by Account Identifier',
  },
  {
    by: 'date-until',
    query: 'date=le2050-01-01',
    all: 'period.start <= @2050-01-01T23:59:59+01:00 or period.start.empty()',
    scenario: "Search for the Encounter by Admission Date with 'le' Modifier",
  },
  {
    by: 'date-after',
    query: 'date=gt1999-01-01',
    all: 'period.end >= @1999-01-01T00:00:00+01:00 or period.end.empty()',
    scenario: "Search for the Encounter by Admission Date with 'gt' Modifier",
  },
  {
    by: 'date-within',
    query: 'date=ge2026-01-05&date=le2026-01-14',
    all: '((period.start.exists() and period.start > @2026-01-14T23:59:59+01:00) or (period.end.exists() and period.end < @2026-01-05T00:00:00+01:00)).not()',
    scenario: "Search for the Encounter by Admission Date with 'ge' und 'le' Modifiers",
  },
  {
    by: 'date-start',
    query: 'date-start=ge2026-01-06',
    all: `period.start >= @${start}`,
    scenario: "Search for the Encounter by Admission Date with the Search parameter 'date-start'",
  },
  {
    by: 'end-date',
    query: 'end-date=le2050-01-01',
    all: 'period.end <= @2050-01-01T23:59:59+01:00',
    scenario: "Search for the Encounter by Admission Date with the Search parameter 'end-date'",
  },
  {
    by: 'date-start-and-end-date',
    query: 'date-start=ge2026-01-05&end-date=le2026-01-14',
    all: 'period.start > @2026-01-05T00:00:00+01:00 and period.end < @2026-01-14T23:59:59+01:00',
    scenario: "Search for the Encounter by Admission Date with both Search parameters 'date-start' and 'end-date'",
  },
];

/** How long an Encounter may take until the requestor of its appointment sees it, in seconds. */
const SOON = 30;

const stayNeeds: readonly Need[] = ['stay', 'patient', 'endedAppointment'];

const SECTION = 'ISiK Basismodul, Stammdaten';

const about = { section: SECTION, stages: fromStage5, within: SOON } as const;
const aboutPatients = { ...about, needs: ['patient'], finds: '{patient}' } as const;
const aboutEncounters = { ...about, needs: stayNeeds, finds: '{stay}' } as const;

/** Searches that must not find the stay. */
const negative: readonly (readonly [by: string, query: string, scenario: string])[] = [
  ['date', 'date=2026-01-05', 'Negative Search for the Encounter by Admission Date'],
  [
    'date-start',
    'date-start=ge2026-01-07',
    "Negative Search for the Encounter by Admission Date with the Search parameter 'date-start' and 'ge' Modifier",
  ],
  [
    'end-date',
    'end-date=le2026-01-07',
    "Negative Search for the Encounter by Admission Date with the Search parameter 'end-date' and 'le' Modifier",
  ],
];

const negativeCheck = ([by, query, scenario]: (typeof negative)[number]): Check => ({
  name: `search-encounter-not-by-another-${by}`,
  rule: `Encounters at other times are not found by ${by}.`,
  section: SECTION,
  stages: fromStage5,
  needs: stayNeeds,
  steps: [
    { request: 'GET /Encounter/?_id={stay.id}', within: SOON, expect: [has('{stay}')] },
    { request: `GET /Encounter/?${query}`, expect: [status(200), hasNot('{stay}')] },
  ],
  covers: [{ feature: 'Encounter-Search', scenario }],
});

/** Reading and searching patients and encounters: the role that stage 5 requires of an appointment repository as well. */
export const masterDataChecks: readonly Check[] = [
  ...ofPatients.map((search) => searchCheck('Patient', search, aboutPatients)),
  countCheck('Patient', 'Search for Patient by Count', aboutPatients),
  ...ofEncounters.map((search) => searchCheck('Encounter', search, aboutEncounters)),
  countCheck('Encounter', 'Search for the Encounter by Count', aboutEncounters),
  ...negative.map(negativeCheck),
  asking({
    name: 'search-encounter-including-patient',
    rule: 'The patient of an Encounter is included on request.',
    section: SECTION,
    stages: fromStage5,
    needs: stayNeeds,
    request: 'GET /Encounter/?_id={stay.id}&date=2026-01&_include=Encounter:patient',
    within: SOON,
    expect: [status(200), has('{stay}'), has('{patient}')],
  }),
];
