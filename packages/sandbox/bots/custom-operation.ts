import {
  allOk,
  badRequest,
  capitalize,
  getExtension,
  isEmpty,
  isResource,
  isResourceType,
  normalizeOperationOutcome,
  resolveId,
  validateResource,
} from '@medplum/core';
import type { FhirRequest, FhirResponse } from '@medplum/fhir-router';
import type {
  Bot,
  OperationDefinition,
  OperationDefinitionParameter,
  Parameters,
  ParametersParameter,
  Resource,
} from '@medplum/fhirtypes';
import type { FastifyRequest } from 'fastify';
import type { Session } from '../platform.ts';
import { repositoryOf, type Server } from '../server.ts';
import { callBot } from './call.ts';

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
function operationOutput(operation: OperationDefinition, output: unknown): Resource {
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

const implementationUrl = 'https://medplum.com/fhir/StructureDefinition/operationDefinition-implementation';

/**
 * Answers a request with the Bot that an OperationDefinition of the project names for it; Medplum tries this after its
 * own routes have answered 404.
 *
 * @returns `undefined` if there is no such operation
 * @see https://www.medplum.com/docs/bots/custom-fhir-operations
 */
export async function customOperation(
  server: Server,
  session: Session,
  fhirRequest: FhirRequest,
  request: FastifyRequest,
): Promise<FhirResponse | undefined> {
  const repository = repositoryOf(server, session);
  // The query is left in the path, as in Medplum: a GET with a query finds no operation.
  const path = fhirRequest.url.split('/');
  const position = path.findIndex((part) => part.startsWith('$'));
  if (position < 0) {
    return undefined;
  }
  const filters = [{ code: 'code', operator: 'exact' as const, value: path[position]?.slice(1) ?? '' }];
  const operation = await repository.searchOne<OperationDefinition>({ resourceType: 'OperationDefinition', filters });
  const bot = operation && getExtension(operation, implementationUrl)?.valueReference;
  if (!operation || !bot?.reference?.startsWith('Bot/')) {
    return undefined;
  }
  await repository.readReference<Bot>({ reference: bot.reference });
  const [type = '', id = ''] = path.slice(position - 2, position);
  const isInstance = operation.instance && position >= 3 && type && id;
  const given = request.method === 'POST' ? request.body : fhirRequest.query;
  const input = isInstance ? await repository.readResource(type, id) : given;
  const result = await callBot(server, session, resolveId({ reference: bot.reference }) ?? '', input, request);
  if (!result.success) {
    const shown = isResource(result.returnValue) ? result.returnValue : undefined;
    return shown ? [badRequest(result.logResult), shown] : [badRequest(result.logResult)];
  }
  try {
    return [allOk, operationOutput(operation, result.returnValue)];
  } catch (error) {
    return [normalizeOperationOutcome(error)];
  }
}
