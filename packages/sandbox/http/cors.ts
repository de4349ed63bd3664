import type { FastifyInstance } from 'fastify';

const exposed = 'Content-Location,ETag,Last-Modified,Location,RateLimit';

/** The paths that pages of other origins may call. */
const prefixes = ['/.well-known/', '/admin/', '/auth/', '/fhir/', '/oauth2/'];

/** Lets pages of all origins call the server, as a Medplum with `allowedOrigins` `*` does. */
export function allowOrigins(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    const { origin } = request.headers;
    if (!origin || !prefixes.some((prefix) => request.url.startsWith(prefix))) {
      return undefined;
    }
    reply.headers({
      vary: 'Origin',
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': exposed,
    });
    if (request.method !== 'OPTIONS') {
      return undefined;
    }
    const wanted = request.headers['access-control-request-headers'];
    return reply
      .code(204)
      .headers({
        'access-control-allow-methods': 'GET,HEAD,PUT,PATCH,POST,DELETE',
        'access-control-max-age': '600',
        ...(wanted && { 'access-control-allow-headers': wanted }),
      })
      .send();
  });
}
