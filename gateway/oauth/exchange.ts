import type { FastifyReply, FastifyRequest } from 'fastify';
import { isObject, parseJson } from '../../core/fhir/resource.ts';
import type { GatewayContext } from '../context.ts';
import { only, tracing } from '../handler.ts';
import type { Addresses } from '../medplum/address-rewriting.ts';
import type { RawResponse } from '../medplum/client.ts';
import { failureResponse } from '../medplum/errors.ts';
import { asOAuthError, sendOAuthProblem } from './errors.ts';

/** A request to one of Medplum's OAuth endpoints. */
interface OAuthCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** A form. */
  readonly body?: string;
  /** The client's credentials, if they are sent in the header. */
  readonly authorization?: string | undefined;
}

/** Medplum's answer, or how the request is refused. */
type OAuthAnswer =
  | { readonly raw: RawResponse; readonly body: unknown }
  | { readonly refuse: (reply: FastifyReply) => FastifyReply };

const responseHeaders = ['content-type', 'www-authenticate', 'retry-after'] as const;

/**
 * The members of an OAuth answer that hold Medplum's addresses; those of what the service does not offer are left out.
 */
const addressMembers: ReadonlyMap<string, 'rewritten' | 'left out'> = new Map([
  ['iss', 'rewritten'],
  ['smart_style_url', 'left out'],
  ['hub.url', 'left out'],
]);

/** The members of an OAuth answer as the world may see them. */
export function publicMembers(body: object, { rewriteUrl }: Addresses): Readonly<Record<string, unknown>> {
  const members = Object.entries(body).flatMap(([name, value]) => {
    const rule = addressMembers.get(name);
    return rule === 'left out' ? [] : [[name, rule && typeof value === 'string' ? rewriteUrl(value) : value] as const];
  });
  return Object.fromEntries(members);
}

/** Writes an answer of Medplum unchanged, except for its addresses. */
function sendResponse(reply: FastifyReply, raw: RawResponse, body: unknown, addresses: Addresses): FastifyReply {
  return reply
    .code(raw.status)
    .headers({ ...only(raw.headers, responseHeaders), 'cache-control': 'no-store' })
    .send(isObject(body) ? JSON.stringify(publicMembers(body, addresses)) : raw.text);
}

/**
 * Calls one of Medplum's OAuth endpoints, without the query of the request and with only the headers of OAuth and of
 * tracing. It names the client's address: Medplum limits logins by address, and would have one limit for all clients, and
 * for the gateway itself.
 */
export async function askMedplum(
  { method, path, body: form, authorization }: OAuthCall,
  request: FastifyRequest,
  { upstream, config, addresses }: GatewayContext,
): Promise<OAuthAnswer> {
  const contentType = request.headers['content-type'];
  const raw = await upstream.send({
    method,
    path,
    headers: {
      ...only(request.headers, tracing),
      ...(contentType !== undefined && { 'content-type': contentType }),
      ...(authorization !== undefined && { authorization }),
      'x-forwarded-for': request.ip,
      'x-request-id': request.id,
    },
    ...(form !== undefined && { body: form }),
  });
  if ('failure' in raw) {
    return { refuse: (reply) => sendOAuthProblem(reply, failureResponse(raw, config)) };
  }
  const body = parseJson(raw.text);
  if (raw.status < 400) {
    return { raw, body };
  }
  const error = asOAuthError(raw, body);
  return {
    refuse: (reply) =>
      error
        ? reply
            .code(raw.status)
            .headers({ ...only(raw.headers, responseHeaders), 'cache-control': 'no-store' })
            .type('application/json; charset=utf-8')
            .send(JSON.stringify(error))
        : sendResponse(reply, raw, body, addresses),
  };
}
