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
 * Runs a Bot for a member of the project that may read it. The Bot acts with its own membership, or with the caller's if
 * it has none or is set to `runAsUser`.
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

const mirrored = ['text/plain', 'x-application/hl7-v2+er7'];

/** Answers with a value that is not a resource. What has no JSON form, such as a function, is a server error. */
function sendValue(request: FastifyRequest, reply: FastifyReply, status: number, value: unknown): FastifyReply {
  const given = request.headers['content-type'] ?? '';
  const type = mirrored.includes(given) ? given : 'application/json';
  const isText = typeof value === 'string' || typeof value === 'number';
  const text = isText ? String(value) : value === null ? '' : JSON.stringify(value);
  if (text === undefined) {
    return reply.code(500).send({ msg: 'Internal Server Error' });
  }
  return reply.code(status).type(`${type}; charset=utf-8`).send(text);
}

/**
 * Turns what a Bot returned into an answer, as Medplum does: an OperationOutcome by its id, a resource or any other
 * value with 200, or with 400 if the Bot failed.
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
 * `Bot/{id}/$execute` and `Bot/$execute?identifier=…`, by GET with the query or by POST with the body as input.
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
