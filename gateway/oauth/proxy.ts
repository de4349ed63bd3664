import type { FastifyError, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayContext } from '../context.ts';
import { errorResponse } from '../operations/error-handler.ts';
import { sendOAuthProblem, sendOAuthRefusal } from './errors.ts';
import { askMedplum, sendAnswer } from './exchange.ts';
import { introspectSealed } from './sealed-introspection.ts';
import { giveSealedToken } from './sealed-token-endpoint.ts';
import { assertionRefusal } from './token-request.ts';

type Answer = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** An endpoint. OAuth has its own JSON, for errors too (RFC 6749 section 5.2). */
interface Endpoint {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** How it answers where credentials are sealed; elsewhere it passes everything through. */
  readonly sealed: (context: GatewayContext, sealing: NonNullable<GatewayContext['sealing']>) => Answer;
}

const TOKEN_PATH = 'oauth2/token';

const endpoints: readonly Endpoint[] = [
  { method: 'POST', path: TOKEN_PATH, sealed: giveSealedToken },
  { method: 'POST', path: 'oauth2/introspect', sealed: introspectSealed },
  {
    method: 'GET',
    path: '.well-known/jwks.json',
    sealed:
      (_context, { tokens }) =>
      async (_request, reply) =>
        reply.header('cache-control', 'no-store').send({ keys: tokens.publicKeys }),
  },
];

/** Passes a request through to Medplum, unless it asks for a token in a way that the service does not support. */
function passThrough({ method, path }: Endpoint, context: GatewayContext): Answer {
  return async (request, reply) => {
    const body = typeof request.body === 'string' ? request.body : '';
    const unknown = path === TOKEN_PATH ? assertionRefusal(body) : undefined;
    if (unknown) {
      return sendOAuthRefusal(reply, unknown);
    }
    const { authorization } = request.headers;
    const call = { method, path, authorization, ...(method === 'POST' && { body }) };
    const answer = await askMedplum(call, request, context);
    return 'refuse' in answer ? answer.refuse(reply) : sendAnswer(reply, answer.raw, answer.body, context.addresses);
  };
}

/**
 * Adds the OAuth 2 endpoints of the service. Behind them are Medplum's own: where credentials are sealed, the service opens and seals them; otherwise it passes them through.
 */
export async function addOAuth(app: FastifyInstance, context: GatewayContext): Promise<void> {
  const { sealing } = context;
  const oauth: FastifyPluginAsync = async (scope) => {
    scope.setErrorHandler((error: FastifyError, _request, reply) =>
      sendOAuthProblem(reply.removeHeader('connection'), errorResponse(error)),
    );
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
      done(null, body),
    );
    for (const endpoint of endpoints) {
      const handler = sealing ? endpoint.sealed(context, sealing) : passThrough(endpoint, context);
      scope.route({ method: endpoint.method, url: `/${endpoint.path}`, handler });
    }
  };
  await app.register(oauth);
}
