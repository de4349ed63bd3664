import {
  applyPatch,
  badRequest,
  deepClone,
  fhirpathPatchTypedValue,
  normalizeOperationOutcome,
  type Operation,
  OperationOutcomeError,
  parseFhirPathPatchParameters,
  toTypedValue,
} from '@medplum/core';
import type { Parameters, ParametersParameter, Resource } from '@medplum/fhirtypes';

function applyJsonPatch(resource: Resource, patch: Operation[]): void {
  const errors = applyPatch(resource, patch, { implicitArrayCreation: true }).filter((error) => error !== null);
  if (errors.length > 0) {
    throw new OperationOutcomeError(badRequest(errors.map(({ message }) => message).join('\n')));
  }
}

function countOf(parameters: readonly ParametersParameter[] | undefined, name: string): number {
  return parameters?.filter((parameter) => parameter.name === name).length ?? 0;
}

/** Medplum checks a FHIRPath Patch against an operation definition. Its errors are those of operations. */
function assertComplete({ parameter }: Parameters): void {
  if (countOf(parameter, 'operation') === 0) {
    throw new Error('Expected 1..* value(s) for input parameter operation, but 0 provided');
  }
  for (const { part } of parameter?.filter(({ name }) => name === 'operation') ?? []) {
    for (const name of ['type', 'path']) {
      const count = countOf(part, name);
      if (count !== 1) {
        throw new Error(`Expected 1 value(s) for input parameter ${name}, but ${count} provided`);
      }
    }
  }
}

/**
 * Applies a JSON Patch or a FHIRPath Patch.
 *
 * @param resource - not modified
 * @throws OperationOutcomeError (400) if it cannot be applied
 * @see https://hl7.org/fhir/R4/http.html#patch
 */
export function patched<T extends Resource>(resource: T, patch: Operation[] | Parameters): T {
  const result = deepClone(resource);
  try {
    if (Array.isArray(patch)) {
      applyJsonPatch(result, patch);
    } else if (patch.parameter) {
      assertComplete(patch);
      fhirpathPatchTypedValue(toTypedValue(result), parseFhirPathPatchParameters(patch));
    }
  } catch (error) {
    throw new OperationOutcomeError(normalizeOperationOutcome(error));
  }
  return result;
}
