import { randomUUID } from 'node:crypto';
import {
  badRequest,
  contentTooLarge,
  isOperationOutcome,
  MEDPLUM_VERSION,
  normalizeOperationOutcome,
  notFound,
  OperationOutcomeError,
  serverError,
  unauthorized,
} from '@medplum/core';
import type { OperationOutcome } from '@medplum/fhirtypes';
import fastify, { type FastifyError, type FastifyInstance } from 'fastify';
import { aboutMe } from '../auth/me.ts';
import { oauthRoutes } from '../auth/oauth.ts';
import { signInRoutes } from '../auth/sign-in.ts';
import type { Services } from '../services.ts';
import { adminRoutes } from './admin.ts';
import { sendOutcome } from './answer.ts';
import { type Authenticate, binaryRoutes } from './binary.ts';
import { parseBody } from './body.ts';
import { emailRoutes } from './email.ts';
import { fhirRoutes } from './fhir.ts';

const exposed = 'Content-Location,ETag,Last-Modified,Location,RateLimit';

/** The paths that pages of other origins may call. */
const prefixes = ['/.well-known/', '/admin/', '/auth/', '/fhir/', '/oauth2/'];

/** Lets pages of all origins call the server, as a Medplum with `allowedOrigins` `*` does. */
function allowOrigins(app: FastifyInstance): void {
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

/** Medplum's default: bodies larger than this get 413. */
const bodyLimit = 1024 * 1024;

function outcomeOf(error: FastifyError | OperationOutcomeError | Error): OperationOutcome {
  if (error instanceof OperationOutcomeError || isOperationOutcome(error)) {
    return normalizeOperationOutcome(error);
  }
  const status = 'statusCode' in error ? error.statusCode : undefined;
  if (status === 413) {
    return contentTooLarge('Request body too large');
  }
  return status && status < 500 ? badRequest(error.message) : serverError(error);
}

function plainRoutes(app: FastifyInstance, authenticate: Authenticate): void {
  app.get('/', async (_request, reply) => reply.type('text/plain').send('OK'));
  app.get('/healthcheck', async () => ({
    ok: true,
    version: MEDPLUM_VERSION,
    platform: process.platform,
    runtime: process.version,
    postgres: true,
    redis: true,
  }));
  app.get('/auth/me', async (request, reply) => aboutMe(authenticate(request, reply)));
}

function authenticator({ sessions, platform }: Services): Authenticate {
  return (request, reply) => {
    const { authorization } = request.headers;
    const session = sessions.authenticate(authorization, request.headers['x-medplum'] === 'extended');
    if (!session) {
      const scheme = authorization?.split(' ')[0] ?? 'Bearer';
      reply.header('www-authenticate', `${scheme} realm="${platform.baseUrl()}"`);
      throw new OperationOutcomeError(unauthorized);
    }
    return session;
  };
}

/** Creates the HTTP server of the sandbox. A response is sent only after everything written so far is on disk. */
export function createApp(server: Services, flushed: () => Promise<void>): FastifyInstance {
  const app = fastify({
    bodyLimit,
    genReqId: () => randomUUID(),
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 8192, ignoreTrailingSlash: false },
    frameworkErrors: (error, request, reply) => sendOutcome(request, reply, outcomeOf(error)),
  });
  allowOrigins(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    const isBinary = request.url.startsWith('/fhir/R4/Binary');
    try {
      const buffer = Buffer.isBuffer(body) ? body : Buffer.from(body);
      done(null, isBinary ? buffer : parseBody(request.headers['content-type'], buffer));
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
    }
  });
  app.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store, no-cache, must-revalidate');
    await flushed();
  });
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const outcome = outcomeOf(error);
    if (outcome.issue[0]?.code === 'exception') {
      server.platform.logger.warn('Unhandled error', { message: error.message, stack: error.stack });
    }
    return sendOutcome(request, reply, outcome);
  });
  app.setNotFoundHandler((request, reply) => sendOutcome(request, reply, notFound));

  const authenticate = authenticator(server);
  plainRoutes(app, authenticate);
  oauthRoutes(app, server);
  signInRoutes(app, server);
  adminRoutes(app, server, authenticate);
  binaryRoutes(app, server, authenticate);
  emailRoutes(app, server, authenticate);
  fhirRoutes(app, server, authenticate);
  return app;
}
