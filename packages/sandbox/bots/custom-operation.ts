import { allOk, badRequest, getExtension, isResource, normalizeOperationOutcome, resolveId } from '@medplum/core';
import type { FhirRequest, FhirResponse } from '@medplum/fhir-router';
import type { Bot, OperationDefinition } from '@medplum/fhirtypes';
import type { FastifyRequest } from 'fastify';
import type { Session } from '../platform.ts';
import { repositoryOf, type Server } from '../server.ts';
import { callBot } from './call.ts';
import { operationOutput } from './operation-output.ts';

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
