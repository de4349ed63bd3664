import type { CodeableConcept, CodeSystem, HealthcareService, Schedule } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../core/config/config.ts';
import { servesAll } from '../../core/fhir/reference.ts';
import { RESOURCE_USAGE } from '../../profiles/terminology.ts';
import { searchAll } from '../medplum/project.ts';
import { type Check, check, type DoctorResult, type Installation, ok, warning } from './check.ts';

interface Coded {
  readonly schedules: readonly Schedule[];
  readonly services: readonly HealthcareService[];
  readonly codeSystems: readonly CodeSystem[];
}

function isFoundFor(type: string, { useContext = [] }: CodeSystem, config: BookingConfig): boolean {
  return useContext.some(
    ({ code, valueCodeableConcept }) =>
      code.system === config.contextTypeSystem &&
      code.code === RESOURCE_USAGE &&
      valueCodeableConcept?.coding?.some(
        (coding) => coding.system === config.resourceTypesSystem && coding.code === type,
      ),
  );
}

/** The code systems in bookable resources of a type, each with the first resource that uses it. */
function systemsOf(
  resources: readonly (Schedule | HealthcareService)[],
  conceptsOf: (resource: Schedule | HealthcareService) => readonly CodeableConcept[],
): Map<string, string> {
  const systems = new Map<string, string>();
  for (const resource of resources.filter(({ active }) => active !== false)) {
    for (const system of conceptsOf(resource).flatMap(({ coding = [] }) => coding.flatMap((one) => one.system ?? []))) {
      systems.set(system, systems.get(system) ?? `${resource.resourceType}/${resource.id}`);
    }
  }
  return systems;
}

function problemsOf(type: string, systems: ReadonlyMap<string, string>, found: Coded, config: BookingConfig): string[] {
  return [...systems].flatMap(([system, resource]) => {
    const known = found.codeSystems.filter(({ url }) => url === system);
    if (known.some((codeSystem) => isFoundFor(type, codeSystem, config))) {
      return [];
    }
    const problem = known.length > 0 ? `is not found for ${type} (useContext)` : 'is not there';
    return [`${system}, named by ${resource}, ${problem}`];
  });
}

/**
 * Finds code systems of bookable services that are hidden from requestors: a search by `context-type-value` must find
 * each one that a Schedule or a HealthcareService uses.
 *
 * @see specification 4.1, rules 1 and 2
 */
function assessTerminology(found: Coded, { config }: { readonly config: BookingConfig }): DoctorResult {
  const ofSchedules = systemsOf(found.schedules, (one) =>
    one.resourceType === 'Schedule'
      ? (one.serviceType ?? []).filter((concept) => !servesAll({ serviceType: [concept] }))
      : [],
  );
  const ofServices = systemsOf(found.services, (one) =>
    one.resourceType === 'HealthcareService' ? (one.type ?? []) : [],
  );
  const problems = [
    ...problemsOf('Schedule', ofSchedules, found, config),
    ...problemsOf('HealthcareService', ofServices, found, config),
  ];
  return problems.length === 0
    ? ok(`${new Set([...ofSchedules.keys(), ...ofServices.keys()]).size} code systems of services are shown to portals`)
    : warning(
        problems.join('; '),
        `Create the CodeSystem in Medplum with its url, and a useContext for each type: code ${config.contextTypeSystem}|${RESOURCE_USAGE}, value ${config.resourceTypesSystem}|Schedule (or HealthcareService).`,
      );
}

async function readCoded({ medplum }: Installation): Promise<Coded> {
  return {
    schedules: await searchAll(medplum, 'Schedule'),
    services: await searchAll(medplum, 'HealthcareService'),
    codeSystems: await searchAll(medplum, 'CodeSystem', { _fields: 'url,useContext' }),
  };
}

export const terminologyChecks: readonly Check[] = [check('code systems of services', readCoded, assessTerminology)];
