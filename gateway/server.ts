import { randomUUID } from 'node:crypto';
import helmet from '@fastify/helmet';
import rateLimit from '@fastify/rate-limit';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyPluginAsync,
  LogController,
  type onRequestAsyncHookHandler,
} from 'fastify';
import type { BookingConfig } from '../core/config/config.ts';
import { createBookingQueue } from './booking-queue.ts';
import { defaultLimits, type GatewayContext, type GatewayLimits } from './context.ts';
import { representationOrDefault } from './handler.ts';
import { problem } from './http/errors.ts';
import { defaultRepresentation, send } from './http/response.ts';
import { createAddresses } from './medplum/address-rewriting.ts';
import { createUpstream } from './medplum/client.ts';
import { createCallers, fingerprint, hasBearerToken } from './medplum/current-profile.ts';
import { addDiscovery } from './oauth/discovery.ts';
import { addOAuth } from './oauth/proxy.ts';
import { addErrorHandler, answerBrokenConnection, errorResponse } from './operations/error-handler.ts';
import { addGracefulShutdown } from './operations/graceful-shutdown.ts';
import { addHealth } from './operations/health.ts';
import { addMetrics } from './operations/metrics.ts';
import { addFhirRoutes } from './routes.ts';
import { addWebsockets, isWebsocket } from './websocket/server.ts';

/** What a gateway needs to know. */
export interface GatewayOptions {
  readonly config: BookingConfig;
  /** Address at which Medplum is called, for example `http://medplum-server:8103/`. */
  readonly medplumBaseUrl: string;
  /** Further addresses by which Medplum names itself (its own `baseUrl`); they are kept from clients, too. */
  readonly medplumAliases?: readonly string[];
  /** A pino logger, or anything with its face; without it nothing is logged. */
  readonly logger?: FastifyBaseLogger;
  readonly limits?: Partial<GatewayLimits>;
  /** Whether the client's address is taken from `X-Forwarded-For`: only behind a proxy that sets it. */
  readonly trustProxy?: boolean;
  /** The clock, in milliseconds; default: the system's. */
  readonly now?: () => number;
}

function createContext({
  config,
  medplumBaseUrl,
  medplumAliases = [],
  limits,
  now = Date.now,
}: GatewayOptions): GatewayContext {
  const all = { ...defaultLimits(config), ...limits };
  const upstream = createUpstream(medplumBaseUrl, all);
  return {
    config,
    limits: all,
    upstream,
    addresses: createAddresses(config, [medplumBaseUrl, ...medplumAliases]),
    callers: createCallers(upstream, now),
    turns: createBookingQueue(all.turnMs),
  };
}

function createServer(
  { logger, trustProxy = false }: GatewayOptions,
  { limits, addresses }: GatewayContext,
): FastifyInstance {
  const broken = (error: unknown) => errorResponse(error);
  return fastify({
    ...(logger ? { loggerInstance: logger } : { logger: false }),
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy,
    http: { shouldUpgradeCallback: (request) => isWebsocket(request, addresses) },
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    // Also ends the hook that waits for what is under way: by default after 10 seconds, with an error.
    pluginTimeout: limits.drainTimeoutMs + 5_000,
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384 },
    genReqId: ({ headers }) => {
      const sent = headers['x-request-id'];
      return typeof sent === 'string' && /^[\w.-]{1,64}$/.test(sent) ? sent : randomUUID();
    },
    clientErrorHandler: answerBrokenConnection,
    frameworkErrors: (error, _request, reply) => send(reply, broken(error), defaultRepresentation, addresses),
  });
}

/** Limits how many requests one token, or without one an address, may send. */
async function addRateLimit(app: FastifyInstance, { limits }: GatewayContext): Promise<void> {
  await app.register(rateLimit, {
    max: limits.requestsPerMinute,
    timeWindow: 60_000,
    keyGenerator: ({ headers, ip }) =>
      hasBearerToken(headers.authorization) ? fingerprint(headers.authorization) : ip,
    errorResponseBuilder: () => Object.assign(new Error('Too many requests'), { statusCode: 429 }),
  });
}

/**
 * Builds the HTTP face of the service in front of a Medplum server. It does not listen yet. `close()` ends it
 * gracefully: new requests are refused with 503, what is under way is finished and answered.
 *
 * @see specification section 4
 */
export function buildGateway(options: GatewayOptions): FastifyInstance {
  const context = createContext(options);
  const { addresses } = context;
  const app = createServer(options, context);
  addErrorHandler(app, addresses);
  const drain = addGracefulShutdown(app, context);
  const websockets = addWebsockets(app, context, options);
  addMetrics(app, drain.inFlight, websockets);
  const refuse: onRequestAsyncHookHandler = async (request, reply) => {
    reply.header('x-request-id', request.id);
    const refused = drain.isDraining()
      ? problem('shutting-down', undefined, { connection: 'close', 'retry-after': '5' })
      : request.is404
        ? problem('not-found')
        : undefined;
    return refused && send(reply, refused, representationOrDefault(request), addresses);
  };
  void app
    .register(helmet, {
      strictTransportSecurity: addresses.origin.startsWith('https:'),
      contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    })
    .after(() => void app.addHook('onRequest', refuse));
  const service: FastifyPluginAsync = async (scope) => {
    await addRateLimit(scope, context);
    addHealth(scope, context);
    addDiscovery(scope, addresses);
    await addOAuth(scope, context);
    await addFhirRoutes(scope, context, new Date((options.now ?? Date.now)()).toISOString());
  };
  void app.register(service);
  return app;
}
