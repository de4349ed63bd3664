import {
  getAllDataTypes,
  getSearchParameter,
  type InternalTypeSchema,
  parseStructureDefinition,
  validateResource,
  validateTypedValue,
} from '@medplum/core';
import type { Resource, StructureDefinition } from '@medplum/fhirtypes';
import { columnOf, valuesOf } from '../search/parameter.ts';
import { resourcesOf, type UnitOfWork } from '../storage/unit-of-work.ts';

function newestFirst(left: StructureDefinition, right: StructureDefinition): number {
  return (right.version ?? '').localeCompare(left.version ?? '') || (right.date ?? '').localeCompare(left.date ?? '');
}

function findProfile(unit: UnitOfWork, url: string): StructureDefinition | undefined {
  const parameter = getSearchParameter('StructureDefinition', 'url');
  const column = parameter && columnOf('StructureDefinition', parameter);
  const found = resourcesOf(unit, 'StructureDefinition').filter(
    (one) => column && valuesOf(one, column).some((value) => value === url),
  );
  return found.sort(newestFirst)[0];
}

/** Name of a profile in the library's validation. */
const PROFILE = 'profile';

const parsed = new WeakMap<StructureDefinition, InternalTypeSchema>();

/**
 * Parses a profile once. The library would parse it again for each resource, which takes ten times as long as the
 * validation.
 */
function validateByProfile(resource: Resource, profile: StructureDefinition): void {
  const schema = parsed.get(profile) ?? parseStructureDefinition(profile);
  parsed.set(profile, schema);
  const types = getAllDataTypes();
  types[PROFILE] = schema;
  try {
    validateTypedValue({ type: PROFILE, value: resource });
  } finally {
    delete types[PROFILE];
  }
}

/**
 * Validates a resource as Medplum does in strict mode: against FHIR R4, and against every stored StructureDefinition in
 * `meta.profile`. Other profiles are ignored; terminology is not checked.
 *
 * @throws OperationOutcomeError (400) with an issue for each problem, `expression` naming the element
 */
export function validate(unit: UnitOfWork, resource: Resource): void {
  validateResource(resource);
  for (const url of resource.meta?.profile ?? []) {
    const profile = findProfile(unit, url);
    if (profile) {
      validateByProfile(resource, profile);
    }
  }
}
