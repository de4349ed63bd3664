import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SearchHandling } from '../core/config/config.ts';
import { isId } from '../core/fhir/reference.ts';
import type { Admission } from './admission/admission.ts';
import type { GatewayContext } from './context.ts';
import { negotiate } from './http/content-negotiation.ts';
import { problem } from './http/errors.ts';
import { parsePrefer, preferredHandling, preferredReturn, prefersAsync, type ReturnPreference } from './http/prefer.ts';
import { defaultRepresentation, type FhirResponse, type Representation, send } from './http/response.ts';
import { type Caller, nameOf } from './medplum/current-profile.ts';
import { noteResponse } from './operations/audit.ts';

/** An admitted request as its handler sees it. */
export interface FhirRequest {
  /** Absent only on public routes, which need no token. */
  readonly caller: Caller | undefined;
  /** The headers of every call to Medplum for this request; no other headers of the client are forwarded. */
  readonly upstreamHeaders: Readonly<Record<string, string>>;
  readonly representation: Representation;
  readonly returnPreference: ReturnPreference | undefined;
  /** `handling` of the `Prefer` header: how unknown search parameters are handled. */
  readonly handling: SearchHandling | undefined;
  /** Whether the client asks for asynchronous execution. */
  readonly prefersAsync: boolean;
  /** The query, without its question mark. */
  readonly query: string;
  readonly params: Readonly<Record<string, string | undefined>>;
  /** The parsed body; `undefined` without one. */
  readonly body: unknown;
  readonly header: (name: string) => string | undefined;
  /** Counts the request for its client once more; returns a response if the limit is reached. */
  readonly countAgain: () => FhirResponse | undefined;
}

/** Carries out an interaction. */
export type Handler = (exchange: FhirRequest, context: GatewayContext) => Promise<FhirResponse>;

/** The tracing headers, which every call to Medplum forwards. */
export const tracing = ['traceparent', 'tracestate'] as const;

/** Returns the headers with the given names. */
export const only = (
  headers: Readonly<Record<string, string | string[] | undefined>>,
  names: readonly string[],
): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );

/** An interaction with the resource whose id is in the path; a malformed id is not found (404). */
export const withId =
  (act: (id: string, ...more: Parameters<Handler>) => Promise<FhirResponse>): Handler =>
  async (exchange, context) => {
    const { id } = exchange.params;
    return isId(id) ? act(id, exchange, context) : problem('not-found');
  };

type PathRequest = FastifyRequest<{ Params: FhirRequest['params'] }>;

/** The value of a header, several joined by commas, or `undefined`. */
function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

function queryOf(request: FastifyRequest): string {
  const start = request.url.indexOf('?');
  return start < 0 ? '' : request.url.slice(start + 1);
}

/** The parameters of a request, including those of a form in its body. */
const parametersOf = (request: FastifyRequest): URLSearchParams =>
  new URLSearchParams(`${queryOf(request)}&${typeof request.body === 'string' ? request.body : ''}`);

/**
 * Returns the format of the response that a client wants, from its headers, its query and, once it is read, its form.
 *
 * @returns `undefined` if it accepts none of the formats (406)
 */
export function representationOf(request: FastifyRequest): Representation | undefined {
  const query = parametersOf(request);
  const negotiated = negotiate(headerOf(request, 'accept'), query.get('_format')?.trim());
  return negotiated && { ...negotiated, pretty: query.get('_pretty') === 'true' };
}

/** The format of a response to a client that may accept none of the formats. */
export const representationOrDefault = (request: FastifyRequest): Representation =>
  representationOf(request) ?? defaultRepresentation;

function requestContextOf(request: PathRequest, admission: Pick<Admission, 'countAgain'>): FhirRequest {
  const header = (name: string): string | undefined => headerOf(request, name);
  const preferences = parsePrefer(request.headers.prefer);
  return {
    caller: request.caller,
    upstreamHeaders: {
      ...only(request.headers, tracing),
      ...(request.medplumAuthorization !== undefined && { authorization: request.medplumAuthorization }),
      accept: 'application/fhir+json',
      'x-request-id': request.id,
    },
    representation: representationOrDefault(request),
    returnPreference: preferredReturn(preferences),
    handling: preferredHandling(preferences),
    prefersAsync: prefersAsync(preferences),
    query: queryOf(request),
    params: request.params,
    body: request.body,
    header,
    countAgain: () => admission.countAgain(request),
  };
}

/** Makes a Fastify handler that carries out an interaction and writes its response. */
export function fastifyHandler(handler: Handler, context: GatewayContext, admission: Pick<Admission, 'countAgain'>) {
  return async (request: PathRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const exchange = requestContextOf(request, admission);
    const held = context.memory.hold(exchange.caller ? nameOf(exchange.caller) : request.ip, reply.raw);
    const response = await held.run(() => handler(exchange, context));
    noteResponse(request, response);
    return send(reply, response, exchange.representation, context.addresses);
  };
}
