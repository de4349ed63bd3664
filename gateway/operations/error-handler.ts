import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isObject } from '../../core/fhir/resource.ts';
import { representationOrDefault } from '../handler.ts';
import { type HttpProblemName, httpProblems, outcomeOf, problem, problemOfStatus } from '../http/errors.ts';
import { type FhirResponse, send } from '../http/response.ts';
import type { Addresses } from '../medplum/address-rewriting.ts';

/** Refusals of Node's HTTP parser, before there is a request. */
const parserProblems: Readonly<Record<string, HttpProblemName>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
};

/** How long a refused client may take to read why, in milliseconds. */
const lingerMs = 1_000;

/** Writes a refusal on a connection without the help of Node's HTTP server, and closes it. */
export function refuseConnection(socket: Duplex, name: HttpProblemName, diagnostics?: string): void {
  const { status } = httpProblems[name];
  const body = JSON.stringify(outcomeOf(name, diagnostics));
  const headers = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/fhir+json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.once('error', () => socket.destroy());
  socket.end(`${headers.join('\r\n')}\r\n\r\n${body}`);
  // If the connection is cut immediately, a client that is still sending loses the answer.
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

/** Answers a connection on which no HTTP request could be read. */
export function respondToBrokenConnection(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  refuseConnection(socket, parserProblems[error.code ?? ''] ?? 'bad-request');
}

/** The loggable part of an error: its kind and origin. Its message can quote input. */
export function describe(error: unknown): Record<string, unknown> {
  const isError = error instanceof Error;
  const frames = isError ? (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)) : [];
  return { type: isError ? error.name : typeof error, code: isObject(error) ? error.code : undefined, frames };
}

/**
 * The answer to a thrown error: Fastify gives those that the client causes a status; any other is a failure of our own.
 */
export function errorResponse(error: unknown): FhirResponse {
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  return problem(problemOfStatus(status >= 400 ? status : 500));
}

/** Answers every failure and every unknown route with an OperationOutcome. */
export function addErrorHandler(app: FastifyInstance, addresses: Addresses): void {
  const respond = (request: FastifyRequest, reply: FastifyReply, refused: FhirResponse) =>
    send(reply, refused, representationOrDefault(request), addresses);
  app.setErrorHandler((error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
    const refused = errorResponse(error);
    if (refused.status >= 500) {
      request.log.error(describe(error), 'failed');
    }
    // The answer is lost if the connection is closed while the client is still sending: the rest of a large body is read
    // first.
    reply.removeHeader('connection');
    return respond(request, reply, refused);
  });
  app.setNotFoundHandler((request, reply) => respond(request, reply, problem('not-found')));
}
