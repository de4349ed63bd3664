import { capitalize, isEmpty, isResource, isResourceType, validateResource } from '@medplum/core';
import type {
  OperationDefinition,
  OperationDefinitionParameter,
  Parameters,
  ParametersParameter,
  Resource,
} from '@medplum/fhirtypes';

function fieldOf(output: unknown, name: string): unknown {
  const isObject = typeof output === 'object' && output !== null;
  return isObject ? Object.entries(output).find(([key]) => key === name)?.[1] : undefined;
}

function assertCount({ name, min = 0, max }: OperationDefinitionParameter, value: unknown): void {
  const count = Array.isArray(value) ? value.length : value === undefined ? 0 : 1;
  if (count < min) {
    throw new Error(`Expected ${min} or more values for output parameter '${name}', got ${count}`);
  }
  if (max !== '*' && count > Number(max)) {
    throw new Error(`Expected at most ${max} values for output parameter '${name}', got ${count}`);
  }
}

function toParameter({ name, type = 'string' }: OperationDefinitionParameter, value: unknown): ParametersParameter {
  const isWhole = type === 'Resource' || isResourceType(type);
  const content = isWhole ? { resource: value } : { [`value${capitalize(type)}`]: value };
  return Object.assign<ParametersParameter, object>({ name }, content);
}

function toParameters(parameters: readonly OperationDefinitionParameter[], output: unknown): Parameters {
  const parameter = parameters.flatMap((definition) => {
    const value = fieldOf(output, definition.name);
    assertCount(definition, value);
    const values = Array.isArray(value) ? value : [value];
    return values.filter((item) => !isEmpty(item)).map((item) => toParameter(definition, item));
  });
  const result: Parameters = { resourceType: 'Parameters', parameter };
  validateResource(result);
  return result;
}

/**
 * What a Bot returned, in the form in which its operation answers: the resource itself if the only output parameter is
 * called `return`, otherwise Parameters made of the fields that are named like output parameters.
 *
 * @throws Error or OperationOutcomeError (400) if it does not fit the definition
 * @see https://hl7.org/fhir/R4/operations.html#response
 */
export function operationOutput(operation: OperationDefinition, output: unknown): Resource {
  const parameters = operation.parameter?.filter(({ use }) => use === 'out') ?? [];
  const [only, ...others] = parameters;
  if (!only) {
    return { resourceType: 'Parameters' };
  }
  if (only.name !== 'return' || others.length > 0) {
    return toParameters(parameters, output);
  }
  if (!isResource(output) || (only.type && output.resourceType !== only.type)) {
    throw new Error(`Expected ${only.type ?? 'Resource'} output, but got unexpected ${typeof output}`);
  }
  return output;
}
