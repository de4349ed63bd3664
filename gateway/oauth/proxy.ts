import type { FastifyError, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { isObject } from '../../core/fhir/resource.ts';
import type { Admission } from '../admission/admission.ts';
import type { GatewayContext } from '../context.ts';
import type { Addresses } from '../medplum/address-rewriting.ts';
import type { RawAnswer } from '../medplum/client.ts';
import { failureAnswer } from '../medplum/errors.ts';
import { errorResponse } from '../operations/error-handler.ts';
import { asOAuthError, sendOAuthProblem } from './errors.ts';

/** The endpoints that are passed through. OAuth has its own JSON, also for errors (RFC 6749 section 5.2). */
const endpoints = [
  { method: 'POST', path: 'oauth2/token' },
  { method: 'POST', path: 'oauth2/introspect' },
  { method: 'GET', path: '.well-known/jwks.json' },
] as const;

type Endpoint = (typeof endpoints)[number];

const requestHeaders = ['authorization', 'content-type', 'traceparent', 'tracestate'] as const;
const responseHeaders = ['content-type', 'www-authenticate', 'retry-after'] as const;
const bodyBytes = 64 * 1024;

/** The members of an OAuth answer that hold addresses of Medplum's; those that the service does not have are left out. */
const addressMembers: ReadonlyMap<string, 'rewritten' | 'left out'> = new Map([
  ['iss', 'rewritten'],
  ['smart_style_url', 'left out'],
  ['hub.url', 'left out'],
]);

function only<Name extends string>(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  allowed: readonly Name[],
): Record<string, string> {
  return Object.fromEntries(
    allowed.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The body of an OAuth answer as the world may see it. */
function publicBody(body: unknown, { text }: RawAnswer, { rewriteUrl }: Addresses): string {
  if (!isObject(body)) {
    return text;
  }
  const members = Object.entries(body).flatMap(([name, value]) => {
    const rule = addressMembers.get(name);
    return rule === 'left out' ? [] : [[name, rule && typeof value === 'string' ? rewriteUrl(value) : value] as const];
  });
  return JSON.stringify(Object.fromEntries(members));
}

/** Passes a request through to Medplum, without its query and with the headers of OAuth only. */
function passThrough({ method, path }: Endpoint, { config, addresses, upstream }: GatewayContext) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const answer = await upstream.send({
      method,
      path,
      headers: { ...only(request.headers, requestHeaders), 'x-request-id': request.id },
      ...(method === 'POST' && { body: typeof request.body === 'string' ? request.body : '' }),
    });
    if ('failure' in answer) {
      return sendOAuthProblem(reply, failureAnswer(answer, config));
    }
    const body = parsed(answer.text);
    const error = asOAuthError(answer, body);
    const headers = { ...only(answer.headers, responseHeaders), 'cache-control': 'no-store' };
    return error
      ? reply.code(answer.status).headers(headers).type('application/json; charset=utf-8').send(JSON.stringify(error))
      : reply
          .code(answer.status)
          .headers(headers)
          .send(publicBody(body, answer, addresses));
  };
}

/** Adds the OAuth 2 endpoints of the service: Medplum's own, passed through, so often in a minute for each address. */
export async function addOAuth(app: FastifyInstance, context: GatewayContext, admission: Admission): Promise<void> {
  const oauth: FastifyPluginAsync = async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      const refused = await admission.countAttempt(request);
      return refused && sendOAuthProblem(reply, refused);
    });
    scope.setErrorHandler((error: FastifyError, _request, reply) =>
      sendOAuthProblem(reply.removeHeader('connection'), errorResponse(error)),
    );
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: bodyBytes },
      (_request, body, done) => done(null, body),
    );
    for (const endpoint of endpoints) {
      scope.route({ method: endpoint.method, url: `/${endpoint.path}`, handler: passThrough(endpoint, context) });
    }
  };
  await app.register(oauth);
}
