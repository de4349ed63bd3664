import { getSearchParameter, validateResource } from '@medplum/core';
import type { Resource, StructureDefinition } from '@medplum/fhirtypes';
import { columnOf, valuesOf } from '../search/parameter.ts';
import type { UnitOfWork } from '../storage/unit-of-work.ts';

function newestFirst(left: StructureDefinition, right: StructureDefinition): number {
  return (right.version ?? '').localeCompare(left.version ?? '') || (right.date ?? '').localeCompare(left.date ?? '');
}

function findProfile(unit: UnitOfWork, url: string): StructureDefinition | undefined {
  const parameter = getSearchParameter('StructureDefinition', 'url');
  const column = parameter && columnOf('StructureDefinition', parameter);
  const found: StructureDefinition[] = [];
  for (const { resource } of unit.newest('StructureDefinition')) {
    if (
      column &&
      resource?.resourceType === 'StructureDefinition' &&
      valuesOf(resource, column).some((v) => v === url)
    ) {
      found.push(resource);
    }
  }
  return found.sort(newestFirst)[0];
}

/**
 * Validates a resource as Medplum does in strict mode: against FHIR R4, and against every profile in `meta.profile` that
 * is stored as a StructureDefinition. Other profiles are ignored; terminology is not checked.
 *
 * @throws OperationOutcomeError (400) with an issue for each problem, `expression` naming the element
 */
export function validate(unit: UnitOfWork, resource: Resource): void {
  validateResource(resource);
  for (const url of resource.meta?.profile ?? []) {
    const profile = findProfile(unit, url);
    if (profile) {
      validateResource(resource, { profile });
    }
  }
}
