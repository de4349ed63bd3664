import { allOk, ContentType, created, isResource, type WithId } from '@medplum/core';
import type { Binary } from '@medplum/fhirtypes';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Session } from '../platform.ts';
import { repositoryOf, type Services } from '../services.ts';
import { resourceOf } from '../storage/unit-of-work.ts';
import { sendResource } from './answer.ts';

/** Identifies the caller, or throws 401. */
export type Authenticate = (request: FastifyRequest, reply: FastifyReply) => Session;

function asBinary(request: FastifyRequest, content: Buffer): Binary {
  const contentType = request.headers['content-type'] ?? 'application/octet-stream';
  if (contentType === ContentType.FHIR_JSON) {
    const body: unknown = JSON.parse(content.toString('utf8'));
    if (isResource<Binary>(body, 'Binary')) {
      return body;
    }
  }
  return { resourceType: 'Binary', contentType, data: content.toString('base64') };
}

/**
 * `Binary`: the content is stored as sent, and returned unchanged unless FHIR JSON is requested.
 *
 * @see https://hl7.org/fhir/R4/binary.html#rest
 */
export function binaryRoutes(app: FastifyInstance, server: Services, authenticate: Authenticate): void {
  const { platform } = server;
  const withUrl = (binary: WithId<Binary>): WithId<Binary> =>
    Object.assign(binary, { url: `${platform.baseUrl()}fhir/R4/Binary/${binary.id}` });

  app.post('/fhir/R4/Binary', async (request, reply) => {
    const repository = repositoryOf(server, authenticate(request, reply));
    const content = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const binary = await repository.createResource(asBinary(request, content));
    return sendResource(request, reply, created, withUrl(binary), platform.baseUrl());
  });

  app.get<{ Params: { id: string } }>('/fhir/R4/Binary/:id', async (request, reply) => {
    const repository = repositoryOf(server, authenticate(request, reply));
    const { id } = request.params;
    const binary = await repository.readResource<Binary>('Binary', id);
    if (request.headers.accept?.startsWith(ContentType.FHIR_JSON)) {
      return sendResource(request, reply, allOk, withUrl(binary), platform.baseUrl());
    }
    const data = resourceOf(platform.unit, 'Binary', id)?.data ?? '';
    return reply.type(binary.contentType).send(Buffer.from(data, 'base64'));
  });
}
