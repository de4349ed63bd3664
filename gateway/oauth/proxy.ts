import type { FastifyError, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayContext, Sealing } from '../context.ts';
import { errorResponse } from '../operations/error-handler.ts';
import { sendOAuthProblem } from './errors.ts';
import { introspectSealed } from './sealed-introspection.ts';
import { giveSealedToken } from './sealed-token-endpoint.ts';

type Answer = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** An endpoint. OAuth has its own JSON, for errors too (RFC 6749 section 5.2). */
interface Endpoint {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly answer: (context: GatewayContext, sealing: Sealing) => Answer;
}

const endpoints: readonly Endpoint[] = [
  { method: 'POST', path: 'oauth2/token', answer: giveSealedToken },
  { method: 'POST', path: 'oauth2/introspect', answer: introspectSealed },
  {
    method: 'GET',
    path: '.well-known/jwks.json',
    answer:
      (_context, { tokens }) =>
      async (_request, reply) =>
        reply.header('cache-control', 'no-store').send({ keys: tokens.publicKeys }),
  },
];

/**
 * Adds the OAuth 2 endpoints of the service. Behind them are Medplum's own: the service opens what comes in and seals what goes out.
 */
export async function addOAuth(app: FastifyInstance, context: GatewayContext): Promise<void> {
  const oauth: FastifyPluginAsync = async (scope) => {
    scope.setErrorHandler((error: FastifyError, _request, reply) =>
      sendOAuthProblem(reply.removeHeader('connection'), errorResponse(error)),
    );
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
      done(null, body),
    );
    for (const endpoint of endpoints) {
      scope.route({
        method: endpoint.method,
        url: `/${endpoint.path}`,
        handler: endpoint.answer(context, context.sealing),
      });
    }
  };
  await app.register(oauth);
}
