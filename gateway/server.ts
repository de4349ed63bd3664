import { randomUUID } from 'node:crypto';
import helmet from '@fastify/helmet';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type onRequestAsyncHookHandler,
} from 'fastify';
import { Registry } from 'prom-client';
import type { BookingConfig } from '../core/config/config.ts';
import { type Admission, createAdmission } from './admission/admission.ts';
import { type TrustedProxies, type TrustProxy, trustedProxies } from './admission/client-address.ts';
import { createClientPermits } from './admission/client-permits.ts';
import { createRateLimit } from './admission/rate-limit.ts';
import { furtherRule } from './admission/route-rules.ts';
import { createBookingQueue } from './booking-queue.ts';
import { botsInGateway, type HostedBots } from './bots/in-gateway.ts';
import { botsInMedplum } from './bots/in-medplum.ts';
import type { GatewayContext, SealingOptions } from './context.ts';
import { representationOrDefault } from './handler.ts';
import { addCors } from './http/cors.ts';
import { problem } from './http/errors.ts';
import { defaultRepresentation, type FhirResponse, send } from './http/response.ts';
import { changesPerMinute, defaultLimits, type GatewayLimits } from './limits.ts';
import { type Addresses, createAddresses } from './medplum/address-rewriting.ts';
import { createUpstream, type Upstream } from './medplum/client.ts';
import { createCallers } from './medplum/current-profile.ts';
import { createResponseMemory } from './medplum/response-memory.ts';
import { addDiscovery, oauthEndpoints } from './oauth/discovery.ts';
import { isOAuthPath, sendOAuthProblem } from './oauth/errors.ts';
import { addMe } from './oauth/me.ts';
import { addOAuth } from './oauth/proxy.ts';
import { addAudit } from './operations/audit.ts';
import { addErrorHandler, errorResponse, respondToBrokenConnection } from './operations/error-handler.ts';
import { addGracefulShutdown } from './operations/graceful-shutdown.ts';
import { addHealth } from './operations/health.ts';
import { addMetrics } from './operations/metrics.ts';
import { addProtocolChecks, hostProblem } from './operations/protocol.ts';
import { addFhirRoutes } from './routes.ts';
import { createAccessTokens } from './sealing/access-tokens.ts';
import { createSealedTokens } from './sealing/sealed-token.ts';
import { createCalendars } from './search/calendars.ts';
import { createCollapsing } from './search/collapse.ts';
import { createLeads } from './search/leads.ts';
import { createBindingTokens } from './websocket/binding-token.ts';
import { addWebsockets, isWebsocket } from './websocket/endpoint.ts';

/** Options of `buildGateway`. */
export interface GatewayOptions {
  readonly config: BookingConfig;
  /** The base URL of Medplum, for example `http://medplum-server:8103/`. */
  readonly medplumBaseUrl: string;
  /** Further base URLs in Medplum's responses (its own `baseUrl`), which are hidden from clients, too. */
  readonly medplumAliases?: readonly string[];
  /** A pino logger or a compatible one; without it nothing is logged. */
  readonly logger?: FastifyBaseLogger;
  readonly limits?: Partial<GatewayLimits>;
  /** The trusted proxies for `X-Forwarded-For`: their number or their networks. Default: none. */
  readonly trustProxy?: TrustedProxies;
  readonly sealing: SealingOptions;
  /** Whether the log records reads and changes of appointments and patients with their caller. */
  readonly audit?: boolean;
  /** The registry for metrics; the caller serves them. */
  readonly metrics?: Registry;
  /** Origins that CORS allows, such as `https://portal.example.org`; default: none. */
  readonly corsOrigins?: readonly string[];
  /** The Bots that this gateway runs itself; without them Medplum runs all Bots. */
  readonly bots?: HostedBots | undefined;
  /** Pages that are served beside the interface. */
  readonly web?: FastifyPluginAsync | undefined;
  /** Returns the current time in milliseconds since 1970 UTC; default: the system's. */
  readonly now?: () => number;
}

function createContext({
  config,
  medplumBaseUrl,
  medplumAliases = [],
  limits,
  sealing,
  corsOrigins = [],
  bots,
  logger,
  now = Date.now,
}: GatewayOptions): GatewayContext {
  const allLimits = { ...defaultLimits(config), ...limits };
  const memory = createResponseMemory(allLimits);
  const upstream = createUpstream(medplumBaseUrl, allLimits, memory);
  const callers = createCallers(upstream, now);
  const addresses = createAddresses(config, [medplumBaseUrl, ...medplumAliases]);
  const issuer = oauthEndpoints(addresses).issuer;
  const tokens = createSealedTokens(sealing.keys, issuer, now);
  const forBots: Upstream = {
    ...upstream,
    call: (call) => upstream.call({ maxBytes: allLimits.botResponseBytes, ...call }),
  };
  const host = { config, medplumBaseUrl: upstream.baseUrl, upstream: forBots, callers, logger, now };
  return {
    config,
    limits: allLimits,
    upstream,
    memory,
    bots: bots ? botsInGateway(bots, host) : botsInMedplum(upstream, config),
    addresses,
    callers,
    calendars: createCalendars(upstream, now, config, allLimits.collapseMs),
    searches: createCollapsing(allLimits.collapseMs),
    leads: createLeads(now),
    bookingQueue: createBookingQueue(allLimits.turnMs),
    changes: createRateLimit(changesPerMinute(config), now),
    changePermits: createClientPermits({
      running: allLimits.concurrentChanges,
      waiting: allLimits.waitingRequests,
      patienceMs: allLimits.largeWaitMs,
    }),
    bindingTokens: createBindingTokens(sealing.keys, now),
    accessTokens: createAccessTokens(tokens, sealing.unsealed, now),
    sealing: { ...sealing, tokens },
    now,
    corsOrigins,
  };
}

function createServer(
  { logger }: GatewayOptions,
  { limits, addresses }: GatewayContext,
  trustProxy: TrustProxy,
): FastifyInstance {
  return fastify({
    ...(logger && { loggerInstance: logger }),
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy,
    http: {
      shouldUpgradeCallback: (request) => isWebsocket(request, addresses),
      // Checked by `hostProblem`, which answers with an OperationOutcome.
      requireHostHeader: false,
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, limits.headersTimeoutMs / 4, limits.requestTimeoutMs / 4),
    },
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    // Also limits the hook that waits for running requests: by default 10 seconds, then an error.
    pluginTimeout: limits.drainTimeoutMs + 5_000,
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384 },
    // Some clients encode the dollar of an operation.
    rewriteUrl: ({ url = '/' }) => url.replace(/^[^?]*/, (path) => path.replaceAll('%24', '$')),
    genReqId: ({ headers }) => {
      const sent = headers['x-request-id'];
      return typeof sent === 'string' && /^[\w.-]{1,64}$/.test(sent) ? sent : randomUUID();
    },
    clientErrorHandler: respondToBrokenConnection,
    frameworkErrors: (error, _request, reply) => send(reply, errorResponse(error), defaultRepresentation, addresses),
  });
}

/** Refuses a request before it is routed, in the error format of OAuth or of FHIR. */
function refuseRequest(request: FastifyRequest, reply: FastifyReply, refused: FhirResponse, addresses: Addresses) {
  return isOAuthPath(request.url)
    ? sendOAuthProblem(reply, refused)
    : send(reply, refused, representationOrDefault(request), addresses);
}

/** Applies the rule of its route to every request before any other hook; a route without a rule is not served. */
function admitByRule(app: FastifyInstance, admission: Admission, addresses: Addresses): void {
  app.addHook('onRoute', (route) => {
    const rule = route.config?.rule ?? furtherRule(route.method, route.url);
    if (!rule) {
      throw new Error(`${route.method} ${route.url} has no line in gateway/admission/route-rules.ts.`);
    }
    const admit: onRequestAsyncHookHandler = async (request, reply) => {
      const refused = await admission.admit(rule, request, reply);
      return refused && refuseRequest(request, reply, refused, addresses);
    };
    route.onRequest = [admit, ...[route.onRequest ?? []].flat()];
    if (rule.bytes > 0) {
      route.bodyLimit = rule.bytes;
    }
  });
}

/**
 * Builds the HTTP server of the service in front of Medplum; it does not listen yet. `close()` ends it gracefully: new
 * requests are refused with 503, and running ones are completed.
 *
 * @see specification section 4
 */
export function buildGateway(options: GatewayOptions): FastifyInstance {
  const context = createContext(options);
  const { addresses } = context;
  const trustProxy = trustedProxies(options.trustProxy ?? 0);
  const app = createServer(options, context, trustProxy);
  addErrorHandler(app, addresses);
  addProtocolChecks(app);
  const admission = createAdmission(app, context);
  admitByRule(app, admission, addresses);
  const drain = addGracefulShutdown(app, context);
  const websockets = addWebsockets(app, context, admission, { ...options, trustProxy });
  addMetrics(app, options.metrics ?? new Registry(), drain.inFlight, websockets);
  if (options.audit) {
    addAudit(app);
  }
  const refuse: onRequestAsyncHookHandler = async (request, reply) => {
    reply.header('x-request-id', request.id);
    if (drain.isDraining()) {
      reply.header('connection', 'close');
    }
    // During a shutdown, requests of a browser pass: a page explains in its user's language what does not work now.
    const isForPerson = request.headers.accept?.includes('text/html') ?? false;
    const refused =
      drain.isDraining() && !isForPerson
        ? problem('shutting-down', undefined, { 'retry-after': '5' })
        : (hostProblem(request.raw) ?? (request.is404 ? problem('not-found') : undefined));
    return refused && refuseRequest(request, reply, refused, addresses);
  };
  void app
    .register(helmet, {
      strictTransportSecurity: addresses.origin.startsWith('https:'),
      contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    })
    .after(() => void app.addHook('onRequest', refuse));
  const service: FastifyPluginAsync = async (scope) => {
    await addCors(scope, context.corsOrigins);
    addDiscovery(scope, context);
    await addOAuth(scope, context);
    addMe(scope);
    await addFhirRoutes(scope, context, admission, new Date((options.now ?? Date.now)()).toISOString());
  };
  addHealth(app, context);
  void app.register(service);
  if (options.web) {
    void app.register(options.web);
  }
  return app;
}
