import type {
  CodeableConcept,
  HealthcareService,
  Location,
  Organization,
  Patient,
  Practitioner,
  Schedule,
} from '@medplum/fhirtypes';
import {
  type Artefact,
  artefactUri,
  type BookingConfig,
  type Confirmation,
  EXTERNAL_TAG,
} from '../../core/config/config.ts';
import { requestorTag } from '../../core/fhir/tags.ts';
import { services, specialties } from '../../profiles/services.ts';
import type { Hours } from './calendar.ts';

/** System of the identifiers by which the demo data is found again. */
export const DEMO_SYSTEM = 'urn:appointment-booking:demo';

/** The identifier of a piece of demo data. */
export const demoIdentifier = (value: string): [{ system: string; value: string }] => [{ system: DEMO_SYSTEM, value }];

/** A bookable schedule of the demo clinic. */
export interface DemoSchedule {
  readonly key: string;
  readonly actor: 'Practitioner' | 'HealthcareService';
  readonly actorKey: string;
  readonly title: string;
  readonly service: keyof typeof services;
  readonly specialty: keyof typeof specialties;
  readonly confirmation: Confirmation;
  readonly hours: readonly Hours[];
}

const consultingHours: readonly Hours[] = [
  { from: 8, to: 12, minutes: 30 },
  { from: 13, to: 16, minutes: 30 },
];

/** The calendars of the demo clinic: one confirmed at once, one by hand, and a CT with one long slot every afternoon. */
export const demoSchedules: readonly DemoSchedule[] = [
  {
    key: 'schedule-moreau',
    actor: 'Practitioner',
    actorKey: 'moreau',
    title: 'Dr. Ada Moreau, general medicine',
    service: 'general-consultation',
    specialty: 'general-medicine',
    confirmation: 'automatic',
    hours: consultingHours,
  },
  {
    key: 'schedule-weber',
    actor: 'Practitioner',
    actorKey: 'weber',
    title: 'Dr. Jonas Weber, surgery',
    service: 'surgical-consultation',
    specialty: 'surgery',
    confirmation: 'manual',
    hours: consultingHours,
  },
  {
    key: 'schedule-ct',
    actor: 'HealthcareService',
    actorKey: 'ct',
    title: 'Computed tomography',
    service: 'CT',
    specialty: 'radiology',
    confirmation: 'automatic',
    hours: [
      { from: 8, to: 12, minutes: 30 },
      { from: 13, to: 17 },
    ],
  },
];

const concept = (config: BookingConfig, artefact: Artefact, code: string, display: string): CodeableConcept => ({
  coding: [{ system: artefactUri(config, artefact), code, display }],
});

/** The service that a schedule offers, coded. */
export const serviceType = (config: BookingConfig, { service }: DemoSchedule): CodeableConcept[] => [
  concept(config, 'LocalServiceType', service, services[service]),
];

/** The specialty of a schedule, coded. */
export const specialty = (config: BookingConfig, schedule: DemoSchedule): CodeableConcept[] => [
  concept(config, 'LocalSpecialty', schedule.specialty, specialties[schedule.specialty]),
];

/** What belongs to no other demo data: the clinic, its place, its people. */
export function clinic(): (Organization | Location | Practitioner)[] {
  return [
    { resourceType: 'Organization', identifier: demoIdentifier('clinic'), active: true, name: 'Demo clinic' },
    {
      resourceType: 'Location',
      identifier: demoIdentifier('outpatients'),
      status: 'active',
      name: 'Outpatient clinic',
    },
    {
      resourceType: 'Practitioner',
      identifier: demoIdentifier('moreau'),
      active: true,
      name: [{ family: 'Moreau', given: ['Ada'], prefix: ['Dr.'] }],
    },
    {
      resourceType: 'Practitioner',
      identifier: demoIdentifier('weber'),
      active: true,
      name: [{ family: 'Weber', given: ['Jonas'], prefix: ['Dr.'] }],
    },
  ];
}

/** The CT as a service of the clinic. */
export function ctService(config: BookingConfig, organization: string, location: string): HealthcareService {
  return {
    resourceType: 'HealthcareService',
    identifier: demoIdentifier('ct'),
    active: true,
    name: 'Computed tomography',
    providedBy: { reference: organization },
    location: [{ reference: location }],
    type: [concept(config, 'LocalServiceType', 'CT', services.CT)],
    specialty: [concept(config, 'LocalSpecialty', 'radiology', specialties.radiology)],
  };
}

/** A schedule as a resource, with its confirmation. */
export function toSchedule(config: BookingConfig, schedule: DemoSchedule, actor: string): Schedule {
  return {
    resourceType: 'Schedule',
    meta: { profile: [artefactUri(config, 'LocalSchedule')] },
    identifier: demoIdentifier(schedule.key),
    active: true,
    extension: [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: schedule.confirmation }],
    serviceType: serviceType(config, schedule),
    specialty: specialty(config, schedule),
    actor: [{ reference: actor, display: schedule.title }],
  };
}

/** A patient that a portal has submitted: only this portal sees it. */
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
