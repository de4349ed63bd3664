import type { CodeableConcept, Schedule } from '@medplum/fhirtypes';

/** Medplum's extension by which a coded service names its HealthcareService. */
export const SERVICE_TYPE_REFERENCE = 'https://medplum.com/fhir/service-type-reference';

/** The id of the HealthcareService that a coded service names. */
export function serviceIdOf({ extension = [] }: CodeableConcept): string | undefined {
  const reference = extension.find(({ url }) => url === SERVICE_TYPE_REFERENCE)?.valueReference?.reference;
  const [type, id] = reference?.split('/') ?? [];
  return type === 'HealthcareService' ? id : undefined;
}

/** The ids of the services that a Schedule or a Slot names, each once. */
export function serviceIdsOf({ serviceType = [] }: Pick<Schedule, 'serviceType'>): string[] {
  return [...new Set(serviceType.map(serviceIdOf).filter((id) => id !== undefined))];
}
