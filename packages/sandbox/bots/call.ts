import {
  allOk,
  badRequest,
  createReference,
  isOk,
  isOperationOutcome,
  isResource,
  notFound,
  type WithId,
} from '@medplum/core';
import type { Bot } from '@medplum/fhirtypes';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { findMembership } from '../access/membership.ts';
import { sendOutcome, sendResource, traceIdOf } from '../http/answer.ts';
import type { BotResult, Session } from '../platform.ts';
import { repositoryOf, type Services } from '../services.ts';

/**
 * Runs a Bot for a project member that may read it. The Bot acts with its own membership. Without one, or with
 * `runAsUser`, it acts with the caller's.
 */
async function callBot(
  server: Services,
  session: Session,
  id: string,
  input: unknown,
  request: FastifyRequest,
): Promise<BotResult> {
  const { platform } = server;
  const bot = await server.systemRepository.readResource<Bot>('Bot', id);
  const own = findMembership(platform.unit, createReference(bot));
  return platform.executeBot({
    bot,
    runAs: bot.runAsUser ? session.membership : (own ?? session.membership),
    requester: session.membership.profile,
    input,
    contentType: request.headers['content-type'],
    headers: request.headers,
    traceId: traceIdOf(request),
  });
}

async function findBot(server: Services, session: Session, id: string | undefined, identifier: unknown) {
  const repository = repositoryOf(server, session);
  if (id) {
    return repository.readResource<Bot>('Bot', id);
  }
  const filters = [{ code: 'identifier', operator: 'exact' as const, value: String(identifier) }];
  return repository.searchOne<Bot>({ resourceType: 'Bot', filters });
}

/** Sends a value that is not a resource. A value without a JSON form, such as a function, is a server error. */
function sendValue(request: FastifyRequest, reply: FastifyReply, status: number, value: unknown): FastifyReply {
  const type = request.headers['content-type'] === 'text/plain' ? 'text/plain' : 'application/json';
  const isText = typeof value === 'string' || typeof value === 'number';
  const text = isText ? String(value) : value === null ? '' : JSON.stringify(value);
  if (text === undefined) {
    return reply.code(500).send({ msg: 'Internal Server Error' });
  }
  return reply.code(status).type(`${type}; charset=utf-8`).send(text);
}

/**
 * Sends the result of a Bot as Medplum does. An OperationOutcome decides the status by its id. Any other value is sent
 * with 200, or with 400 if the Bot failed.
 */
function sendBotResult(
  request: FastifyRequest,
  reply: FastifyReply,
  { success, logResult, returnValue }: BotResult,
  baseUrl: string,
): FastifyReply {
  const body = returnValue === undefined ? (success ? allOk : badRequest(logResult)) : returnValue;
  if (isOperationOutcome(body) && !isOk(body)) {
    return sendOutcome(request, reply, body);
  }
  if (isResource(body)) {
    return sendResource(request, reply, success ? allOk : badRequest(logResult), body, baseUrl);
  }
  return sendValue(request, reply, success ? 200 : 400, body);
}

/**
 * `Bot/{id}/$execute` and `Bot/$execute?identifier=…`. The input is the query of a GET or the body of a POST.
 *
 * @param id - of the Bot; without one, the query's `identifier` names it
 * @see https://www.medplum.com/docs/api/fhir/operations/bot-execute
 */
export async function executeBot(
  server: Services,
  session: Session,
  id: string | undefined,
  query: Readonly<Record<string, unknown>>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  if (!id && typeof query.identifier !== 'string') {
    return sendOutcome(request, reply, badRequest('Must specify bot ID or identifier.'));
  }
  const bot: WithId<Bot> | undefined = await findBot(server, session, id, query.identifier);
  if (!bot) {
    return sendOutcome(request, reply, notFound);
  }
  const input = request.method === 'POST' ? (request.body ?? {}) : query;
  const result = await callBot(server, session, bot.id, input, request);
  return sendBotResult(request, reply, result, server.platform.baseUrl());
}
