import type { Appointment, CodeableConcept, HealthcareService, Resource, Schedule } from '@medplum/fhirtypes';
import { displayIssues } from '../../core/booking/appointment/actors.ts';
import { profileIssues, publisherIssues, specialtyIssues } from '../../core/booking/appointment/profile.ts';
import type { AppointmentRules, BookingConfig } from '../../core/config/config.ts';
import { readStructure } from '../../core/fhir/types/structure.ts';

type Problems = readonly (string | false | undefined)[];

/** Specialties that must be there, coded as the profiles demand. */
const specialtyProblems = (
  specialty: readonly CodeableConcept[] | undefined,
  type: string,
  { specialty: slices }: AppointmentRules,
): Problems => [
  !specialty?.length && 'specialty is missing',
  ...specialtyIssues(specialty, type, slices).map(({ diagnostics }) => diagnostics),
];

const hasType = (concepts: readonly CodeableConcept[] | undefined): boolean =>
  concepts?.some(({ coding, text }) => coding?.every(({ system, code }) => system && code) || text) ?? false;

const problemsOf: Readonly<Record<string, (resource: Resource, config: BookingConfig) => Problems>> = {
  Appointment: (resource, config) => {
    const located = { value: resource as Appointment, path: 'Appointment' };
    return [
      ...profileIssues(located, config),
      ...publisherIssues(located, config),
      ...(config.appointmentRules?.needsDisplay ? displayIssues(located.value.participant, located.path) : []),
    ].map(({ diagnostics }) => diagnostics);
  },
  Schedule: (resource, config) => {
    const { actor, specialty } = resource as Schedule;
    return config.appointmentRules
      ? [
          ...specialtyProblems(specialty, 'Schedule', config.appointmentRules),
          actor.some(({ display }) => !display) && 'an actor has no display',
        ]
      : [];
  },
  HealthcareService: (resource, config) => {
    const { type, specialty } = resource as HealthcareService;
    return config.appointmentRules
      ? [
          !hasType(type) && 'type is missing',
          ...specialtyProblems(specialty, 'HealthcareService', config.appointmentRules),
        ]
      : [];
  },
};

/** What is wrong with a resource by FHIR's elements, and by the profiles of an installation: sentences. */
export function problemsIn(resource: Resource, config: BookingConfig): string[] {
  const structure = readStructure(resource, resource.resourceType, resource.resourceType).issues;
  const problems = problemsOf[resource.resourceType]?.(resource, config) ?? [];
  return [...structure.map(({ diagnostics }) => diagnostics), ...problems.flatMap((one) => one || [])];
}
