import { expect, test } from '@jest/globals';
import { type Check, isikStages, isNotification, type Step } from '../check.ts';
import { allChecks } from '../checks/all.ts';
import { recipes } from '../preparation/recipes.ts';
import { namesIn, textsIn } from '../template.ts';

/** What stands for placeholders in every check. */
const constants = ['config', 'uri', 'serviceType', 'specialty', 'run'];

const textsOf = (step: Step): string[] => [
  ...step.expect.map(({ says }) => says),
  ...(isNotification(step) ? [] : [step.request, ...textsIn(step.headers), ...textsIn(step.body)]),
];

/** The placeholders of a check that nothing stands for when they are needed. */
function unknownIn({ needs = [], steps }: Check): string[] {
  const known = new Set<string>([...constants, ...needs]);
  return steps.flatMap((step) => {
    const unknown = textsOf(step)
      .flatMap(namesIn)
      .filter((name) => !known.has(name));
    if (!isNotification(step) && step.keep) {
      known.add(step.keep);
    }
    return unknown;
  });
}

test('every check has a name of its own, sends something, and expects something', () => {
  const names = allChecks.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  expect(allChecks.filter(({ steps }) => steps.length === 0)).toEqual([]);
  expect(allChecks.filter(({ steps }) => steps.some(({ expect: expected }) => expected.length === 0))).toEqual([]);
});

test.each(allChecks.map((check) => [check.name, check] as const))('%s fills in what it is given', (_, check) => {
  expect(unknownIn(check)).toEqual([]);
});

test('every recipe fills in what it is given, and keeps what it is for', () => {
  for (const [need, { needs, time, steps }] of Object.entries(recipes)) {
    const check: Check = { name: need, level: 'MUST', rule: '', section: '', needs, steps };
    expect(unknownIn(check).filter((name) => !(time && name === 'time'))).toEqual([]);
    expect(steps.map(({ keep }) => keep)).toContain(need);
  }
});

test('a check that another one stands for names one that there is', () => {
  const names = new Set(allChecks.map(({ name }) => name));
  expect(allChecks.filter(({ orElse }) => orElse && !names.has(orElse))).toEqual([]);
});

/** The scenarios of gematik's suite 2.4.0 that stages 3 and 5 make mandatory, by feature, as stage 5 calls them. */
const suite: Readonly<Record<string, readonly string[]>> = {
  'Appointment-Book': [
    'Read and Validation of the CapabilityStatement',
    'Book an appointment using a free slot',
    'Book an appointment when the request is incomplete (no slot or schedule provided)',
  ],
  'Appointment-Book-By-Schedule': ['Book an appointment by schedule reference'],
  'Appointment-Read': ['Read and Validation of the CapabilityStatement', 'Read an Appointment by ID'],
  'Appointment-Search': [
    'Read and Validation of the CapabilityStatement',
    'Validation of the search parameter definitions in the CapabilityStatement',
    'Search for the Appointment by ID',
    'Search for the Appointment by Status',
    'Search for the Appointment by Service Type',
    'Search for the Appointment by Specialty',
    'Search for the Appointment by Date',
    'Search for the Appointment by Slot',
    'Search for the Appointment by Actor',
  ],
  'HealthcareService-Read': ['Read and Validation of the CapabilityStatement', 'Read a HealthcareService by ID'],
  'HealthcareService-Search': [
    'Read and Validation of the CapabilityStatement',
    'Validation of the search parameter definitions in the CapabilityStatement',
    'Search for the HealthcareService by ID',
    'Search for the HealthcareService by Active state',
    'Search for the HealthcareService by service type',
    'Search for the HealthcareService by Specialty',
    'Search for the HealthcareService by Name',
  ],
  'Schedule-Read': ['Read and Validation of the CapabilityStatement', 'Read a Schedule by ID'],
  'Schedule-Search': [
    'Read and Validation of the CapabilityStatement',
    'Validation of the search parameter definitions in the CapabilityStatement',
    'Search for the Schedule by ID',
    'Search for the Schedule by Active state',
    'Search for the Schedule by Service Type',
    'Search for the Schedule by Specialty',
    'Search for the Schedule by Actor',
  ],
  'Slot-Read': ['Read and Validation of the CapabilityStatement', 'Read a Slot by ID'],
  'Slot-Search': [
    'Read and Validation of the CapabilityStatement',
    'Validation of the search parameter definitions in the CapabilityStatement',
    'Search for the Slot by ID',
    'Search for the Slot by Schedule',
    'Search for the Slot by Status and Schedule',
    'Search for the Slot by Start time',
    'Chaining search for slots by Practitioner',
  ],
};

/** What only stage 5 makes mandatory. */
const inStage5: Readonly<Record<string, readonly string[]>> = {
  'Appointment-Search': ['Search for the Appointment by Count'],
  'HealthcareService-Search': ['Search for the HealthcareService by Count'],
  'Schedule-Search': ['Search for the Schedule by Count'],
  'Slot-Search': ['Search for the Slot by Count'],
  'Encounter-Appointment-Read': [
    'Read and Validation of the CapabilityStatement',
    'Read and Validate planned Encounter by its ID',
  ],
};

/**
 * What stage 5 makes mandatory in the features of the Basismodul, as far as the role for patients and encounters demands
 * it of an appointment repository.
 */
const ofMasterData: Readonly<Record<string, readonly string[]>> = {
  'Patient-Search': [
    'Validation of the search parameter definitions in the CapabilityStatement',
    'Search for Patient by ID',
    'Search for Patient by Count',
    'Search for Patient by identifier',
    'Search for Patient by first name',
    'Search for Patient with parameter family',
    'Search for Patient by date of birth',
    'Search for Patient by gender',
  ],
  'Encounter-Search': [
    'Validation of the search parameter definitions in the CapabilityStatement',
    'Search for the encounter by ID',
    'Search for the Encounter by Count',
    'Search for the Encounter by Status',
    'Search for the Encounter by Class',
    'Search for the Encounter by Type',
    'Search for the Encounter by Patient ID',
    'Search for the Encounter by Account ID',
    'Search for the Encounter by Account Identifier',
    "Search for the Encounter by Admission Date with 'le' Modifier",
    "Search for the Encounter by Admission Date with 'gt' Modifier",
    'Negative Search for the Encounter by Admission Date',
    "Search for the Encounter by Admission Date with 'ge' und 'le' Modifiers",
    "Search for the Encounter by Admission Date with the Search parameter 'end-date'",
    "Search for the Encounter by Admission Date with the Search parameter 'date-start'",
    "Negative Search for the Encounter by Admission Date with the Search parameter 'date-start' and 'ge' Modifier",
    "Negative Search for the Encounter by Admission Date with the Search parameter 'end-date' and 'le' Modifier",
    "Search for the Encounter by Admission Date with both Search parameters 'date-start' and 'end-date'",
    'Search for the Encounter by Admission Identifier',
    'Search for the Encounter by identifier.system',
  ],
};

/** The checks of a stage that cover a scenario and are binding. */
const covering = (stage: (typeof isikStages)[number], feature: string, scenario: string): Check[] =>
  allChecks.filter(
    ({ level = 'MUST', stages = isikStages, covers = [] }) =>
      level === 'MUST' &&
      stages.includes(stage) &&
      covers.some((one) => one.feature === feature && one.scenario === scenario),
  );

const scenarios = (features: typeof suite) =>
  Object.entries(features).flatMap(([feature, names]) => names.map((name) => [feature, name] as const));

test.each(scenarios(suite))('the scenario “%s: %s” is covered in stages 3 and 5', (feature, scenario) => {
  expect(covering('isik3', feature, scenario)).not.toEqual([]);
  expect(covering('isik5', feature, scenario)).not.toEqual([]);
});

test.each([...scenarios(inStage5), ...scenarios(ofMasterData)])(
  'the scenario “%s: %s” is covered in stage 5',
  (feature, scenario) => {
    expect(covering('isik5', feature, scenario)).not.toEqual([]);
  },
);
