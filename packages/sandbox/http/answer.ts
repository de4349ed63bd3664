import { randomUUID } from 'node:crypto';
import { ContentType, getStatus, isAccepted, isCreated, stringify } from '@medplum/core';
import type { Extension, OperationOutcome, Resource } from '@medplum/fhirtypes';
import type { FastifyReply, FastifyRequest } from 'fastify';

const tracingUrl = 'https://medplum.com/fhir/StructureDefinition/tracing';

/** The trace id of a request: the caller's own, or a new one. */
export function traceIdOf(request: FastifyRequest): string {
  const given = request.headers['x-trace-id'] ?? request.headers.traceparent;
  return typeof given === 'string' ? given : randomUUID();
}

function tracing(request: FastifyRequest): Extension {
  return {
    url: tracingUrl,
    extension: [
      { url: 'requestId', valueId: request.id },
      { url: 'traceId', valueId: request.id },
    ],
  };
}

/** Sends FHIR JSON without empty elements; `Prefer: return=minimal`, read as Medplum reads it, leaves out the body. */
function sendJson(request: FastifyRequest, reply: FastifyReply, body: unknown, contentType?: string): FastifyReply {
  reply.type(`${contentType ?? ContentType.FHIR_JSON}; charset=utf-8`);
  return reply.send(request.headers.prefer === 'return=minimal' ? '' : stringify(body));
}

/**
 * Sends an OperationOutcome; its id decides the status.
 *
 * @param outcome - its `diagnostics` become the `Content-Location` of a 202
 */
export function sendOutcome(request: FastifyRequest, reply: FastifyReply, outcome: OperationOutcome): FastifyReply {
  const location = isAccepted(outcome) ? outcome.issue[0]?.diagnostics : undefined;
  if (location) {
    reply.header('content-location', location);
  }
  const extension = [tracing(request), ...(outcome.extension ?? [])];
  return sendJson(request, reply.code(getStatus(outcome)), { ...outcome, extension });
}

/**
 * Sends a resource with `ETag`, `Last-Modified` and, if it was created, `Location`.
 *
 * @param baseUrl - of the server, with a slash at its end
 */
export function sendResource(
  request: FastifyRequest,
  reply: FastifyReply,
  outcome: OperationOutcome,
  resource: Resource,
  baseUrl: string,
  contentType?: string,
): FastifyReply {
  const { versionId, lastUpdated } = resource.meta ?? {};
  if (versionId) {
    reply.header('etag', `W/"${versionId}"`);
  }
  if (lastUpdated) {
    reply.header('last-modified', new Date(lastUpdated).toUTCString());
  }
  if (isCreated(outcome)) {
    reply.header('location', `${baseUrl}fhir/R4/${resource.resourceType}/${resource.id}`);
  }
  return sendJson(request, reply.code(getStatus(outcome)), resource, contentType);
}
