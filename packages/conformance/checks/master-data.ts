import { asking, type Check, fromStage5 } from '../check.ts';
import { has, hasNot, leadsTo, status } from '../expectation.ts';
import type { Need } from '../preparation/needs.ts';
import { countCheck, type Search, searchCheck } from './searches.ts';

const ofPatients: readonly Search[] = [
  ['id', '_id={patient.id}', "id = '{patient.id}'", 'by ID'],
  [
    'identifier',
    'identifier={patient.identifier.0.system}%7C{patient.identifier.0.value}',
    "identifier.where(value = '{patient.identifier.0.value}').exists()",
    'by identifier',
  ],
  [
    'family',
    'family={patient.name.0.family}',
    "name.family.where($this.startsWith('{patient.name.0.family}')).exists()",
    'with parameter family',
  ],
  [
    'given',
    'given={patient.name.0.given.0}',
    "name.given.where($this.startsWith('{patient.name.0.given.0}')).exists()",
    'by first name',
  ],
  ['birthdate', 'birthdate={patient.birthDate}', 'birthDate = @{patient.birthDate}', 'by date of birth'],
  ['gender', 'gender={patient.gender}', "gender = '{patient.gender}'", 'by gender'],
];

const start = '2026-01-06T00:00:00+01:00';

const ofEncounters: readonly Search[] = [
  ['id', '_id={stay.id}', "id = '{stay.id}'", 'Search for the encounter by ID'],
  [
    'identifier',
    'identifier={stay.identifier.0.system}%7C{stay.identifier.0.value}',
    "identifier.where(value = '{stay.identifier.0.value}').exists()",
    'by Admission Identifier',
  ],
  [
    'system-of-identifier',
    'identifier={stay.identifier.0.system}%7C',
    "identifier.where(system = '{stay.identifier.0.system}').exists()",
    'by identifier.system',
  ],
  ['status', 'status=finished', "status = 'finished'", 'by Status'],
  [
    'class',
    'class=http://terminology.hl7.org/CodeSystem/v3-ActCode%7CIMP',
    "class.where(code = 'IMP' and system = 'http://terminology.hl7.org/CodeSystem/v3-ActCode').exists()",
    'by Class',
  ],
  [
    'type',
    'type=http://fhir.de/CodeSystem/kontaktart-de%7Cnormalstationaer',
    "type.coding.where(code = 'normalstationaer' and system = 'http://fhir.de/CodeSystem/kontaktart-de').exists()",
    'by Type',
  ],
  ['patient', 'patient={patient.id}', `subject.${leadsTo('{patient}')}`, 'by Patient ID'],
  [
    'account',
    'account={stay.account.0.reference}',
    `account.where(${leadsTo('{stay.account.0.reference}')}).exists()`,
    'by Account ID',
  ],
  [
    'identifier-of-account',
    'account:identifier={stay.account.0.identifier.system}%7C{stay.account.0.identifier.value}',
    `account.where(${leadsTo('{stay.account.0.reference}')}).exists()`,
    'by Account Identifier',
  ],
  [
    'date-until',
    'date=le2050-01-01',
    'period.start <= @2050-01-01T23:59:59+01:00 or period.start.empty()',
    "by Admission Date with 'le' Modifier",
  ],
  [
    'date-after',
    'date=gt1999-01-01',
    'period.end >= @1999-01-01T00:00:00+01:00 or period.end.empty()',
    "by Admission Date with 'gt' Modifier",
  ],
  [
    'date-within',
    'date=ge2026-01-05&date=le2026-01-14',
    '((period.start.exists() and period.start > @2026-01-14T23:59:59+01:00) or (period.end.exists() and period.end < @2026-01-05T00:00:00+01:00)).not()',
    "by Admission Date with 'ge' und 'le' Modifiers",
  ],
  [
    'date-start',
    'date-start=ge2026-01-06',
    `period.start >= @${start}`,
    "by Admission Date with the Search parameter 'date-start'",
  ],
  [
    'end-date',
    'end-date=le2050-01-01',
    'period.end <= @2050-01-01T23:59:59+01:00',
    "by Admission Date with the Search parameter 'end-date'",
  ],
  [
    'date-start-and-end-date',
    'date-start=ge2026-01-05&end-date=le2026-01-14',
    'period.start > @2026-01-05T00:00:00+01:00 and period.end < @2026-01-14T23:59:59+01:00',
    "by Admission Date with both Search parameters 'date-start' and 'end-date'",
  ],
];

/** Maximum delay until the requestor of the appointment can read an Encounter, in seconds. */
const SOON = 30;

const stayNeeds: readonly Need[] = ['stay', 'patient', 'endedAppointment'];

const SECTION = 'ISiK Basismodul, Stammdaten';

const about = { section: SECTION, stages: fromStage5, within: SOON } as const;
const aboutPatients = { ...about, needs: ['patient'], finds: '{patient}' } as const;
const aboutEncounters = { ...about, needs: stayNeeds, finds: '{stay}' } as const;

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

/** Reading and searching patients and encounters: the role that stage 5 also requires of an appointment repository. */
export const masterDataChecks: readonly Check[] = [
  ...ofPatients.map((search) => searchCheck('Patient', search, aboutPatients)),
  countCheck('Patient', aboutPatients),
  ...ofEncounters.map((search) => searchCheck('Encounter', search, aboutEncounters)),
  countCheck('Encounter', aboutEncounters),
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
