import type { Appointment, CodeableConcept, HealthcareService, Resource, Schedule } from '@medplum/fhirtypes';
import { displayIssues } from '../../core/booking/appointment/display.ts';
import { profileIssues } from '../../core/booking/appointment/profile.ts';
import { publisherIssues } from '../../core/booking/appointment/publisher-rules.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { readStructure } from '../../core/fhir/types/structure.ts';

type Problems = readonly (string | false | undefined)[];

/** Of each specialty one coding is from the code systems of IHE Germany, and there is one. */
function specialtyProblems(specialty: readonly CodeableConcept[] = [], { appointmentRules }: BookingConfig): Problems {
  const systems = appointmentRules?.specialty.systems ?? [];
  const coded = specialty.map(({ coding = [] }) => coding.filter(({ system = '' }) => systems.includes(system)).length);
  return [
    specialty.length === 0 && 'specialty is missing',
    coded.some((count) => count !== 1) && 'specialty is not coded by IHE Germany',
  ];
}

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
      ? [...specialtyProblems(specialty, config), actor.some(({ display }) => !display) && 'an actor has no display']
      : [];
  },
  HealthcareService: (resource, config) => {
    const { type, specialty } = resource as HealthcareService;
    return config.appointmentRules
      ? [!hasType(type) && 'type is missing', ...specialtyProblems(specialty, config)]
      : [];
  },
};

/** What is wrong with a resource by FHIR's elements, and by the profiles of an installation: sentences. */
export function problemsIn(resource: Resource, config: BookingConfig): string[] {
  const structure = readStructure(resource, resource.resourceType, resource.resourceType).issues;
  const problems = problemsOf[resource.resourceType]?.(resource, config) ?? [];
  return [...structure.map(({ diagnostics }) => diagnostics), ...problems.flatMap((one) => one || [])];
}
