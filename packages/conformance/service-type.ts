import type { CodeableConcept } from '@medplum/fhirtypes';
import type { Client } from './client.ts';
import { isResource } from './resource.ts';

/** General practice, in FHIR's example code system of service types. */
const general = { system: 'http://terminology.hl7.org/CodeSystem/service-type', code: '124' };

function firstCoding(concepts: readonly CodeableConcept[]) {
  const codings = concepts.flatMap(({ coding = [] }) => coding);
  return codings.flatMap(({ system, code }) => (system && code ? [{ system, code }] : []))[0];
}

function typesOf(resource: unknown): readonly CodeableConcept[] {
  if (isResource(resource, 'Bundle')) {
    return (resource.entry ?? []).flatMap((entry) => typesOf(entry.resource));
  }
  return isResource(resource, 'HealthcareService')
    ? (resource.type ?? [])
    : isResource(resource, 'Schedule')
      ? (resource.serviceType ?? [])
      : [];
}

/**
 * Finds a service type of the service under test; default: general practice.
 *
 * @param schedules - references of prepared Schedules, which take precedence over other Schedules and
 * HealthcareServices
 */
export async function serviceTypeToBook(
  requestor: Client,
  schedules: readonly string[] = [],
): Promise<{ system: string; code: string }> {
  const paths = [...schedules.map((one) => `/${one}`), '/HealthcareService?_count=20', '/Schedule?_count=20'];
  for (const path of paths) {
    const { resource } = await requestor.send({ method: 'GET', path });
    const coding = firstCoding(typesOf(resource));
    if (coding) {
      return coding;
    }
  }
  return general;
}
