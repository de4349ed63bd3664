import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addressGroups } from '../../packages/web/address-group.ts';
import type { GatewayContext } from '../context.ts';
import { problem } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import { type Caller, hasBearerToken, isCaller, nameOf } from '../medplum/current-profile.ts';
import { upstreamProblem } from '../medplum/errors.ts';
import { oauthEndpoints } from '../oauth/discovery.ts';
import { createClientPermits } from './client-permits.ts';
import { createRateLimit, type RateLimit } from './rate-limit.ts';
import type { RouteRule } from './route-rules.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the token has been verified. */
    caller: Caller | undefined;
    /** The caller's `Authorization` header for Medplum, once the token has been verified. */
    medplumAuthorization: string | undefined;
  }
}

/** Decides which requests are served, without reading their bodies. */
export interface Admission {
  /** Counts a request for its address; returns a response if the limit is reached. */
  readonly countAddress: (address: string) => FhirResponse | undefined;
  /**
   * Applies the rule of its route to a request and counts it for its address. If the route needs a token, verifies it,
   * counts the request for its client, and holds one of the client's permits until the response is sent. Sets
   * `request.caller`, unless a response is returned.
   */
  readonly admit: (rule: RouteRule, request: FastifyRequest, reply: FastifyReply) => Promise<FhirResponse | undefined>;
  /** Counts an admitted request for its client once more, for each entry of a batch. */
  readonly countAgain: (request: FastifyRequest) => FhirResponse | undefined;
}

const unauthorized = (diagnostics?: string): FhirResponse =>
  problem('unauthorized', diagnostics, { 'www-authenticate': 'Bearer error="invalid_token"' });

const tooManyRequests = (seconds: number, reason: string): FhirResponse =>
  problem('too-many-requests', `${reason} Try again in ${seconds} s.`, { 'retry-after': String(seconds) });

/** Counts a request of an address or a client; returns 429 if the limit is reached. */
function countFor(name: string, limit: RateLimit, weight: number, reason: string): FhirResponse | undefined {
  const counted = limit.take(name, weight);
  return typeof counted === 'number' ? tooManyRequests(counted, reason) : undefined;
}

/** Makes a limit per minute and address. An IPv6 address counts as its /64, and with a higher limit as its /48. */
function createAddressLimit(perMinute: number, reason: string, now: () => number) {
  const limit = createRateLimit(perMinute, now);
  return (address: string): FhirResponse | undefined => {
    for (const { name, times } of addressGroups(address)) {
      const refused = countFor(name, limit, 1 / times, reason);
      if (refused) {
        return refused;
      }
    }
    return undefined;
  };
}

/** The admitted request on whose behalf this process sends further requests to the interface. */
const admitted = new AsyncLocalStorage<FastifyRequest>();

/**
 * Returns a `fetch` of the interface with the rights of an admitted request. Its requests are not counted once more.
 * Every method but POST is sent as GET.
 *
 * @param request - to an application that the gateway serves
 */
export function interfaceFor(request: FastifyRequest): (url: string, init?: RequestInit) => Promise<Response> {
  return async (url, { method, headers, body } = {}) => {
    const payload = typeof body === 'string' ? body : undefined;
    const sent = new Request(url, { method: method ?? 'GET', headers: headers ?? {} });
    // The injected request begins once it is awaited, which must happen inside.
    const response = await admitted.run(
      request,
      async () =>
        await request.server.inject({
          method: sent.method === 'POST' ? 'POST' : 'GET',
          url,
          headers: Object.fromEntries(sent.headers),
          ...(payload !== undefined && { payload }),
        }),
    );
    return new Response(response.payload, { status: response.statusCode });
  };
}

/** The refusal of a client at a route that is not for it. */
function routeRefusal({ who }: RouteRule, { role, isAssistant }: Caller, origin: string): FhirResponse | undefined {
  if (who === 'assistant') {
    return isAssistant
      ? undefined
      : problem('forbidden', 'Only clients that the clinic has marked as assistants have tools.');
  }
  // Assistants can only use their tools: a booking needs the acceptance of a person.
  if (isAssistant) {
    return problem('forbidden', `These credentials are those of an assistant: they are good for ${origin}/mcp only.`);
  }
  return who === 'staff' && role === 'requestor' ? problem('forbidden') : undefined;
}

/** Prepares the limits of the gateway. Unknown callers are counted by their address, never by the token they send. */
export function createAdmission(
  app: FastifyInstance,
  { limits, callers, config, addresses, accessTokens, now }: GatewayContext,
): Admission {
  app.decorateRequest('caller', undefined);
  app.decorateRequest('medplumAuthorization', undefined);
  const countAddress = createAddressLimit(
    limits.requestsPerMinuteAndAddress,
    'Too many requests from this address.',
    now,
  );
  const countAttempt = createAddressLimit(
    limits.attemptsPerMinuteAndAddress,
    'Too many different credentials from this address.',
    now,
  );
  const clients = createRateLimit(limits.requestsPerMinute, now);
  const countClient = ({ caller }: FastifyRequest): FhirResponse | undefined =>
    countFor(nameOf(caller), clients, 1, 'Too many requests from this client.');
  const permits = createClientPermits({
    running: limits.concurrentRequests,
    waiting: limits.waitingRequests,
    patienceMs: limits.largeWaitMs,
  });
  const takePermit = async (caller: Caller, reply: FastifyReply): Promise<FhirResponse | undefined> => {
    const releasePermit = await permits.take(nameOf(caller));
    if (!releasePermit) {
      return tooManyRequests(1, 'Too many concurrent requests from this client.');
    }
    if (reply.raw.closed) {
      releasePermit();
    } else {
      reply.raw.once('close', releasePermit);
    }
    return undefined;
  };
  const admitClient = async (request: FastifyRequest): Promise<FhirResponse | undefined> => {
    const { authorization } = request.headers;
    if (!hasBearerToken(authorization)) {
      return problem('unauthorized');
    }
    const recalledToken = accessTokens.recall(authorization);
    const recalledCaller = recalledToken && callers.recall(recalledToken.authorization);
    const refused = recalledCaller ? undefined : countAttempt(request.ip);
    if (refused) {
      return refused;
    }
    const token = recalledToken ?? (await accessTokens.read(authorization));
    if (!token) {
      return unauthorized();
    }
    const caller = recalledCaller ?? (await callers.find(token.authorization));
    if (!isCaller(caller)) {
      return upstreamProblem(caller, config);
    }
    if (!accessTokens.admits(token, caller)) {
      return unauthorized(
        `This token was issued by Medplum itself. Portals get theirs from ${oauthEndpoints(addresses).token_endpoint}, with the sealed secret that the clinic hands out.`,
      );
    }
    request.caller = caller;
    request.medplumAuthorization = token.authorization;
    return undefined;
  };
  return {
    countAddress,
    countAgain: countClient,
    admit: async (rule, request, reply) => {
      const { who, limit } = rule;
      const outerRequest = admitted.getStore();
      if (outerRequest && who === 'client') {
        request.caller = outerRequest.caller;
        request.medplumAuthorization = outerRequest.medplumAuthorization;
        return undefined;
      }
      const refused =
        (limit === 'none' ? undefined : countAddress(request.ip)) ??
        (limit === 'few' ? countAttempt(request.ip) : undefined) ??
        (who === 'anyone' ? undefined : await admitClient(request));
      const { caller } = request;
      if (refused || !caller) {
        return refused;
      }
      return countClient(request) ?? (await takePermit(caller, reply)) ?? routeRefusal(rule, caller, addresses.origin);
    },
  };
}
