import type { FastifyError, FastifyInstance, FastifyPluginAsync } from 'fastify';
import type { GatewayContext } from '../context.ts';
import { errorResponse } from '../operations/error-handler.ts';
import { sendOAuthProblem } from './errors.ts';
import { giveSealedToken } from './sealed-token-endpoint.ts';

/** Adds the OAuth 2 endpoints of the service. Their errors have OAuth's own JSON (RFC 6749 section 5.2). */
export async function addOAuth(app: FastifyInstance, context: GatewayContext): Promise<void> {
  const oauth: FastifyPluginAsync = async (scope) => {
    scope.setErrorHandler((error: FastifyError, _request, reply) =>
      sendOAuthProblem(reply.removeHeader('connection'), errorResponse(error)),
    );
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
      done(null, body),
    );
    scope.post('/oauth2/token', giveSealedToken(context));
    scope.get('/.well-known/jwks.json', async (_request, reply) =>
      reply.header('cache-control', 'no-store').send({ keys: context.sealing.tokens.publicKeys }),
    );
  };
  await app.register(oauth);
}
