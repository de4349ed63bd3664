import { readFileSync } from 'node:fs';
import type {
  Attachment,
  CodeableConcept,
  Extension,
  HealthcareService,
  Location,
  Organization,
  Patient,
  Practitioner,
  Schedule,
} from '@medplum/fhirtypes';
import { type BookingConfig, EXTERNAL_TAG } from '../../core/config/config.ts';
import { type Artefact, artefactUri, type Confirmation } from '../../core/fhir/artefacts.ts';
import { serviceTypeOf } from '../../core/fhir/reference.ts';
import { changeService } from '../../core/fhir/scheduling/change-hours.ts';
import { SCHEDULING_PARAMETERS } from '../../core/fhir/scheduling/scheduling-parameters.ts';
import { requestorTag } from '../../core/fhir/tags.ts';
import { translatable } from '../../packages/web/elements.ts';
import { germanServices, services, specialties } from '../../profiles/services.ts';
import { parseHours } from '../calendar/hours-text.ts';

export const DEMO_SYSTEM = 'urn:appointment-booking:demo';

export const demoIdentifier = (value: string): [{ system: string; value: string }] => [{ system: DEMO_SYSTEM, value }];

/** A bookable schedule of the demo clinic. */
export interface DemoSchedule {
  readonly key: string;
  /** The key of the practitioner. Without one, the schedule is the calendar of its service. */
  readonly practitioner?: string;
  readonly title: string;
  readonly german: string;
  readonly service: keyof typeof services;
  readonly specialty: keyof typeof specialties;
  readonly confirmation: Confirmation;
  readonly hours: string;
  /** Length of a slot in minutes. */
  readonly duration: number;
  /** Length of an appointment in minutes, if portals book slot parts. */
  readonly part?: number;
  /** The key of a schedule with the same hours. */
  readonly like?: string;
}

const consultingHours = 'mon-fri 08:00-12:00,13:00-16:00';

/**
 * The calendars of the demo clinic: one confirmed at once, one by hand, and a CT whose half days are booked in parts.
 */
export const demoSchedules: readonly DemoSchedule[] = [
  {
    key: 'schedule-moreau',
    practitioner: 'moreau',
    title: 'Dr. Ada Moreau, general medicine',
    german: 'Dr. Ada Moreau, Allgemeinmedizin',
    service: 'general-consultation',
    specialty: 'general-medicine',
    confirmation: 'automatic',
    hours: consultingHours,
    duration: 30,
  },
  {
    key: 'schedule-weber',
    practitioner: 'weber',
    title: 'Dr. Jonas Weber, surgery',
    german: 'Dr. Jonas Weber, Chirurgie',
    service: 'surgical-consultation',
    specialty: 'surgery',
    confirmation: 'manual',
    hours: consultingHours,
    duration: 30,
  },
  {
    key: 'schedule-ct',
    title: services.CT,
    german: 'Computertomographie',
    service: 'CT',
    specialty: 'radiology',
    confirmation: 'automatic',
    hours: 'mon-fri 08:00-12:00,12:00-16:00',
    duration: 240,
    part: 30,
  },
];

/** Two more doctors of the first service, between whom patients may choose. */
export const colleagues: readonly DemoSchedule[] = [
  ['aksoy', 'Dr. Nuri Aksoy'],
  ['brandt', 'Dr. Lena Brandt'],
].map(([practitioner = '', name = '']) => ({
  key: `schedule-${practitioner}`,
  practitioner,
  title: `${name}, general medicine`,
  german: `${name}, Allgemeinmedizin`,
  service: 'general-consultation',
  specialty: 'general-medicine',
  confirmation: 'automatic',
  hours: consultingHours,
  duration: 30,
  like: 'schedule-moreau',
}));

const concept = (config: BookingConfig, artefact: Artefact, code: string, display: string): CodeableConcept => ({
  coding: [{ system: artefactUri(config, artefact), code, display }],
});

/** IHE Germany's codes of the specialties, for profiles that require them. */
const practiceSettings: Readonly<Record<keyof typeof specialties, string>> = {
  'general-medicine': 'ALLG',
  'internal-medicine': 'INNE',
  surgery: 'CHIR',
  radiology: 'RADI',
  gynaecology: 'FRAU',
  paediatrics: 'KIJU',
};

function specialty(config: BookingConfig, { specialty: name }: DemoSchedule): CodeableConcept[] {
  const own = concept(config, 'LocalSpecialty', name, specialties[name]);
  const system = config.appointmentRules?.specialty[0]?.systems[0];
  return [system ? { coding: [{ system, code: practiceSettings[name] }, ...(own.coding ?? [])] } : own];
}

/** A picture of the demo clinic. Its source is the `.svg` next to it. */
const picture = (name: string): Attachment => ({
  contentType: 'image/png',
  data: readFileSync(new URL(`pictures/${name}.png`, import.meta.url)).toString('base64'),
});

const doctor = (key: string, given: string, family: string, ...languages: string[]): Practitioner => ({
  resourceType: 'Practitioner',
  identifier: demoIdentifier(key),
  active: true,
  name: [{ family, given: [given], prefix: ['Dr.'] }],
  photo: [picture(key)],
  communication: languages.map((code) => ({ coding: [{ system: 'urn:ietf:bcp:47', code }] })),
});

export const DEMO_CLINIC = 'Klinik am See';

const address = { line: ['Seeweg 1'], postalCode: '10115', city: 'Berlin' };

/** Demo data without references: the clinic, its location, its practitioners. */
export function clinic(config: BookingConfig): (Organization | Location | Practitioner)[] {
  return [
    {
      resourceType: 'Organization',
      identifier: demoIdentifier('clinic'),
      active: true,
      name: DEMO_CLINIC,
      // One of the numbers that Germany reserves for films and examples.
      telecom: [{ system: 'phone', value: '+49 30 23125 000' }],
      address: [address],
      extension: [
        {
          url: artefactUri(config, 'LocalPortal'),
          extension: [
            { url: 'logo', valueAttachment: picture('logo') },
            { url: 'colour', valueString: '#0b6e6e' },
            { url: 'imprint', valueUrl: 'https://clinic.example/imprint' },
            { url: 'privacy', valueUrl: 'https://clinic.example/privacy' },
          ],
        },
      ],
    },
    {
      resourceType: 'Location',
      identifier: demoIdentifier('outpatients'),
      status: 'active',
      ...translatable('name', 'Outpatient clinic', { de: 'Ambulanz' }),
      address,
    },
    doctor('moreau', 'Ada', 'Moreau', 'de', 'fr'),
    doctor('weber', 'Jonas', 'Weber', 'de', 'en'),
    doctor('aksoy', 'Nuri', 'Aksoy', 'de', 'tr'),
    doctor('brandt', 'Lena', 'Brandt', 'de', 'en', 'uk'),
  ];
}

/** A service of the clinic, with the opening hours of the schedule that offers it. */
export function hoursService(
  config: BookingConfig,
  schedule: DemoSchedule,
  organization: string,
  location: string,
): HealthcareService {
  const { key, service, hours, duration } = schedule;
  const resource: HealthcareService = {
    resourceType: 'HealthcareService',
    identifier: demoIdentifier(key.replace('schedule', 'hours')),
    active: true,
    extension: [{ url: artefactUri(config, 'LocalBookingPolicy'), extension: [{ url: 'refill', valueBoolean: true }] }],
    ...translatable('name', services[service], { de: germanServices[service] ?? services[service] }),
    providedBy: { reference: organization },
    location: [{ reference: location }],
    type: [concept(config, 'LocalServiceType', service, services[service])],
    specialty: specialty(config, schedule),
  };
  return changeService(resource, { hours: parseHours(hours), duration, timeZone: config.timeZone });
}

/** Length and interval of the appointments in a schedule, for any length of its slots. */
function lengthsOf(value: number): Extension[] {
  const lengths = ['duration', 'alignmentInterval'].map((url) => ({ url, valueDuration: { value, unit: 'min' } }));
  return [{ url: SCHEDULING_PARAMETERS, extension: lengths }];
}

/** A schedule as a resource, with its confirmation. */
export function toSchedule(
  config: BookingConfig,
  schedule: DemoSchedule,
  hours: HealthcareService & { readonly id: string },
  actor = `HealthcareService/${hours.id}`,
): Schedule {
  return {
    resourceType: 'Schedule',
    meta: { profile: [artefactUri(config, 'LocalSchedule')] },
    identifier: demoIdentifier(schedule.key),
    active: true,
    extension: [
      { url: artefactUri(config, 'LocalConfirmation'), valueCode: schedule.confirmation },
      ...(schedule.part === undefined ? [] : lengthsOf(schedule.part)),
    ],
    serviceType: serviceTypeOf(hours),
    specialty: specialty(config, schedule),
    actor: [{ reference: actor, ...translatable('display', schedule.title, { de: schedule.german }) }],
  };
}

/** A patient that a portal has submitted. No other portal sees it. */
export function demoPatient(config: BookingConfig, key: string, family: string, requestor: string): Patient {
  return {
    resourceType: 'Patient',
    meta: { tag: [{ system: config.metaTagSystem, code: EXTERNAL_TAG }, requestorTag(requestor, config)] },
    identifier: demoIdentifier(key),
    active: true,
    name: [{ family, given: ['Robin'] }],
    birthDate: '1980-05-17',
  };
}
