import { asking, type Check, fromStage5, isikStages } from '../check.ts';
import { findsOnly, has, leadsTo, names, resource, status, that } from '../expectation.ts';
import type { Need } from '../preparation/needs.ts';
import { countCheck, type Search, searchCheck } from './searches.ts';

type Type = 'Appointment' | 'HealthcareService' | 'Schedule' | 'Slot';

const subjects: Readonly<Record<Type, Need>> = {
  Appointment: 'endedAppointment',
  HealthcareService: 'healthcareService',
  Schedule: 'schedule',
  Slot: 'busySlot',
};

const coded = (element: string, placeholder: string): string =>
  `${element}.coding.where(system = '{${placeholder}.system}' and code = '{${placeholder}.code}').exists()`;

const isNeurology = coded('specialty', 'specialty');

/** The required content of each resource: the entered values and those of its profile. */
const contents: Readonly<Record<Type, readonly string[]>> = {
  Appointment: [
    "meta.tag.where(system = '{config.metaTagSystem}' and code = 'external').exists()",
    "extension.where(url = 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Appointment.replaces').value.reference.exists()",
    "status = 'cancelled'",
    "cancelationReason.coding.where(code = 'pat').exists()",
    "comment.exists() and comment != ''",
    "patientInstruction.exists() and patientInstruction != ''",
    coded('serviceType', 'serviceType'),
    isNeurology,
    "_priority.extension.where(url = '{uri.LocalTerminPriorityExtension}').value.coding.where(code = '394848005').exists()",
    'start.toDateTime() ~ @{busySlot.start} and end.toDateTime() ~ @{busySlot.end}',
    `slot.where(${leadsTo('{busySlot}')}).exists()`,
    `participant.actor.where(${leadsTo('{patient}')} and display.exists()).exists()`,
    names('meta.profile', '{uri.LocalTermin}'),
  ],
  HealthcareService: ['active = true', coded('type', 'serviceType'), isNeurology, 'name.exists()'],
  Schedule: [
    'active = true',
    coded('serviceType', 'serviceType'),
    'serviceType.text.exists()',
    isNeurology,
    `actor.where(${leadsTo('{practitioner}')} and display.exists()).exists()`,
    "extension.where(url = 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Schedule.name').value.exists()",
  ],
  Slot: [
    "status = 'busy'",
    `schedule.${leadsTo('{schedule}')}`,
    'start.toDateTime() ~ @{busySlot.start} and end.toDateTime() ~ @{busySlot.end}',
  ],
};

const beside: Readonly<Record<Type, readonly Need[]>> = {
  Appointment: ['endedAppointment', 'busySlot', 'patient'],
  HealthcareService: ['healthcareService'],
  Schedule: ['schedule', 'practitioner'],
  Slot: ['busySlot', 'schedule'],
};

const read = (type: Type, scenario: string): Check =>
  asking({
    name: `read-${type.toLowerCase()}-in-full`,
    rule: `GET /${type}/[id] returns everything that was entered, as XML.`,
    ...about(type),
    request: `GET /{${subjects[type]}}`,
    format: 'xml',
    expect: [status(200), resource(type), that(`id = '{${subjects[type]}.id}'`), ...contents[type].map(that)],
    covers: [{ feature: `${type}-Read`, scenario }],
  });

const bySpecialty =
  'specialty=urn%3Aoid%3A1.2.276.0.76.5.114%7C142%2Chttp%3A%2F%2Fihe-d.de%2FCodeSystems%2FAerztlicheFachrichtungen%7CNEUR';

const searches: Readonly<Record<Type, readonly Search[]>> = {
  Appointment: [
    ['status', 'status=cancelled', "status = 'cancelled'", 'by Status'],
    [
      'service-type',
      'service-type={serviceType.code}',
      "serviceType.coding.where(code = '{serviceType.code}').exists()",
      'by Service Type',
    ],
    ['specialty', bySpecialty, isNeurology, 'by Specialty'],
    ['date', 'date={busySlot.start.date}', "start.toString().contains('{busySlot.start.date}')", 'by Date', 'xml'],
    ['slot', 'slot={busySlot.id}', `slot.where(${leadsTo('{busySlot}')}).exists()`, 'by Slot', 'xml'],
    [
      'actor',
      'actor={patient}',
      `participant.actor.where(${leadsTo('{patient}')} and display.exists()).exists()`,
      'by Actor',
    ],
  ],
  HealthcareService: [
    ['active', 'active=true', 'active = true', 'by Active state'],
    [
      'service-type',
      'service-type={serviceType.code}',
      "type.coding.where(code = '{serviceType.code}').exists()",
      'by service type',
    ],
    ['specialty', bySpecialty, isNeurology, 'by Specialty'],
    ['name', 'name={healthcareService.name}', "name.contains('{healthcareService.name}')", 'by Name', 'xml'],
  ],
  Schedule: [
    ['active', 'active=true', 'active = true', 'by Active state'],
    [
      'service-type',
      'service-type={serviceType.code}',
      "serviceType.coding.where(code = '{serviceType.code}').exists()",
      'by Service Type',
    ],
    ['specialty', bySpecialty, isNeurology, 'by Specialty'],
    [
      'actor',
      'actor={practitioner}',
      `actor.where(${leadsTo('{practitioner}')} and display.exists()).exists()`,
      'by Actor',
      'xml',
    ],
  ],
  Slot: [
    ['schedule', 'schedule={schedule.id}', `schedule.${leadsTo('{schedule}')}`, 'by Schedule'],
    ['status-and-schedule', 'schedule={schedule.id}&status=busy', "status = 'busy'", 'by Status and Schedule'],
    [
      'start',
      'schedule={schedule.id}&start={busySlot.start.date}',
      "start.toString().contains('{busySlot.start.date}')",
      'by Start time',
    ],
  ],
};

const about = (type: Type) => ({ section: `ISiK Terminplanung, ${type}`, stages: isikStages, needs: beside[type] });

const byId = (type: Type): Check =>
  asking({
    name: `search-${type.toLowerCase()}-by-id`,
    rule: `${type} is found by _id, with a slash before the question mark, and as XML.`,
    ...about(type),
    request: `GET /${type}/?_id={${subjects[type]}.id}`,
    format: 'xml',
    expect: [
      ...findsOnly(type, `id = '{${subjects[type]}.id}'`),
      has(`{${subjects[type]}}`),
      ...contents[type].map((one) => that(`entry.resource.ofType(${type}).all(${one})`)),
    ],
    covers: [{ feature: `${type}-Search`, scenario: `Search for the ${type} by ID` }],
  });

const byCount = (type: Type): Check =>
  countCheck(type, { ...about(type), section: 'ISiK Terminplanung, CapabilityStatement, _count', stages: fromStage5 });

const types = Object.keys(subjects) as Type[];

const encounterContents = [
  "status = 'planned'",
  "identifier.where(value = '{run}').exists()",
  "class.where(system = 'http://terminology.hl7.org/CodeSystem/v3-ActCode' and code = 'IMP').exists()",
  "type.coding.where(system = 'http://fhir.de/CodeSystem/kontaktart-de' and code = 'normalstationaer').exists()",
  "serviceType.coding.where(system = 'http://fhir.de/CodeSystem/dkgev/Fachabteilungsschluessel' and code = '1500').exists()",
  "hospitalization.admitSource.coding.where(system = 'http://fhir.de/CodeSystem/dgkev/Aufnahmeanlass' and code = 'E').exists()",
  "serviceProvider.display = 'Hospital' and serviceProvider.identifier.value.exists()",
  `subject.${leadsTo('{patient}')}`,
  `appointment.where(${leadsTo('{endedAppointment}')}).exists()`,
  'period.exists().not()',
];

/** Maximum delay until the requestor of the appointment can read an Encounter, in seconds. */
const SOON = 30;

const encounterChecks: readonly Check[] = [
  asking({
    name: 'read-encounter-in-full',
    rule: 'GET /Encounter/[id] returns the planned Encounter of an Appointment, as XML.',
    section: 'ISiK Terminplanung, Encounter',
    stages: fromStage5,
    needs: ['encounter', 'endedAppointment', 'patient'],
    request: 'GET /{encounter}',
    format: 'xml',
    within: SOON,
    expect: [status(200), resource('Encounter'), that("id = '{encounter.id}'"), ...encounterContents.map(that)],
    covers: [{ feature: 'Encounter-Appointment-Read', scenario: 'Read and Validate planned Encounter by its ID' }],
  }),
  asking({
    name: 'search-encounter-by-appointment',
    rule: 'Encounters are found by their Appointment.',
    section: 'ISiK Terminplanung, Encounter',
    stages: fromStage5,
    needs: ['encounter', 'endedAppointment'],
    request: 'GET /Encounter/?appointment={endedAppointment.id}',
    within: SOON,
    expect: [
      ...findsOnly('Encounter', `appointment.where(${leadsTo('{endedAppointment}')}).exists()`),
      has('{encounter}'),
    ],
  }),
  {
    name: 'search-encounter-by-appointment-earlier',
    level: 'MAY',
    rule: 'Encounters are found by their Appointment, as XML.',
    section: 'ISiK Terminplanung, Encounter',
    stages: ['isik3', 'isik4'],
    needs: ['encounter', 'endedAppointment'],
    steps: [
      {
        request: 'GET /Encounter/?appointment={endedAppointment.id}',
        format: 'xml',
        within: SOON,
        expect: [status(200), has('{encounter}')],
      },
      {
        request: 'GET /Encounter/{encounter.id}',
        expect: [status(200), that(`appointment.where(${leadsTo('{endedAppointment}')}).exists()`)],
      },
    ],
    covers: [
      { feature: 'Encounter-Read-Appointment', scenario: 'Read eines Encounter anhand der ID' },
      { feature: 'Encounter-Search-Appointment', scenario: 'Suche des Encounters anhand der Patienten-Id' },
    ],
  },
];

/** Reading and searching as ISiK requires, and the current status of a booking (specification 4.7). */
export const readingChecks: readonly Check[] = [
  read('Appointment', 'Read an Appointment by ID'),
  read('HealthcareService', 'Read a HealthcareService by ID'),
  read('Schedule', 'Read a Schedule by ID'),
  read('Slot', 'Read a Slot by ID'),
  ...types.map(byId),
  ...types.map(byCount),
  ...types.flatMap((type) => searches[type].map((search) => searchCheck(type, search, about(type)))),
  searchCheck(
    'Appointment',
    ['tag', '_tag={config.metaTagSystem}%7Cexternal', "meta.tag.where(code = 'external').exists()", 'by Tag', 'xml'],
    { ...about('Appointment'), level: 'MAY', stages: fromStage5 },
  ),
  ...encounterChecks,
  asking({
    name: 'search-slot-by-practitioner',
    rule: 'Slots are found by the actor of their Schedule, as XML.',
    section: 'ISiK Terminplanung, Slot',
    stages: isikStages,
    needs: ['busySlot', 'practitioner'],
    request: 'GET /Slot/?schedule.actor={practitioner}&_count=200',
    format: 'xml',
    expect: [status(200), has('{busySlot}')],
    covers: [{ feature: 'Slot-Search', scenario: 'Chaining search for slots by Practitioner' }],
  }),
];
