import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addressGroup, addressNetwork, PER_NETWORK } from '../../core/address-group.ts';
import type { GatewayContext } from '../context.ts';
import { problem } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import { type Caller, hasBearerToken, isCaller, nameOf } from '../medplum/current-profile.ts';
import { upstreamProblem } from '../medplum/errors.ts';
import { oauthEndpoints } from '../oauth/discovery.ts';
import { createClientPlaces } from './client-places.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls, once the token has been verified. */
    caller: Caller | undefined;
    /** The caller's `Authorization` header for Medplum, once the token has been verified. */
    medplumAuthorization: string | undefined;
  }
}

/** Decides which requests are served, without reading their bodies. */
export interface Admission {
  /** Counts a request for the address that it comes from; returns an answer if there were too many. */
  readonly countAddress: (request: FastifyRequest) => Promise<FhirResponse | undefined>;
  /** Counts a request whose credentials Medplum has to check, for the address that it comes from. */
  readonly countAttempt: (request: FastifyRequest) => Promise<FhirResponse | undefined>;
  /**
   * Verifies the token, counts the request for its client, and gives it one of the client's places until it is
   * answered. Sets `request.caller`, unless an answer is returned.
   */
  readonly admit: (request: FastifyRequest, reply: FastifyReply) => Promise<FhirResponse | undefined>;
  /** Counts an admitted request for its client once more, for each thing that a batch asks for. */
  readonly countAgain: (request: FastifyRequest) => Promise<FhirResponse | undefined>;
}

const minuteMs = 60_000;

const unauthorized = (diagnostics?: string): FhirResponse =>
  problem('unauthorized', diagnostics, { 'www-authenticate': 'Bearer error="invalid_token"' });

const tooMany = (seconds: number, what: string): FhirResponse =>
  problem('too-many-requests', `${what} Try again in ${seconds} s.`, { 'retry-after': String(seconds) });

/** Makes a limit of requests per minute. */
function perMinute(app: FastifyInstance, max: number, what: string, keyOf: (request: FastifyRequest) => string) {
  const count = app.createRateLimit({ max, timeWindow: minuteMs, keyGenerator: keyOf });
  return async (request: FastifyRequest): Promise<FhirResponse | undefined> => {
    const counted = await count(request);
    return !counted.isAllowed && counted.isExceeded ? tooMany(Math.max(1, counted.ttlInSeconds), what) : undefined;
  };
}

/** Makes a limit of requests per minute and address; the network of an IPv6 address has one, too. */
function perAddress(app: FastifyInstance, max: number, what: string) {
  const ofAddress = perMinute(app, max, what, ({ ip }) => addressGroup(ip));
  const ofNetwork = perMinute(app, PER_NETWORK * max, what, ({ ip }) => addressNetwork(ip));
  return async (request: FastifyRequest): Promise<FhirResponse | undefined> =>
    (await ofAddress(request)) ?? ofNetwork(request);
}

/**
 * Prepares the limits of the gateway. Unknown callers are counted by their address, never by the token they send.
 *
 * @param app - where requests are decorated
 */
export async function createAdmission(
  app: FastifyInstance,
  { limits, callers, config, addresses, accessTokens }: GatewayContext,
): Promise<Admission> {
  await app.register(rateLimit, { global: false });
  app.decorateRequest('caller', undefined);
  app.decorateRequest('medplumAuthorization', undefined);
  const countAddress = perAddress(app, limits.requestsPerMinuteAndAddress, 'Too many requests from this address.');
  const countAttempt = perAddress(
    app,
    limits.attemptsPerMinuteAndAddress,
    'Too many different credentials from this address.',
  );
  const countClient = perMinute(app, limits.requestsPerMinute, 'Too many requests from this client.', ({ caller }) =>
    nameOf(caller),
  );
  const places = createClientPlaces({
    running: limits.concurrentRequests,
    waiting: limits.waitingRequests,
    patienceMs: limits.placeMs,
  });
  const takePlace = async (caller: Caller, reply: FastifyReply): Promise<FhirResponse | undefined> => {
    const giveBack = await places.take(nameOf(caller));
    if (!giveBack) {
      return tooMany(1, 'Too many concurrent requests from this client.');
    }
    if (reply.raw.closed) {
      giveBack();
    } else {
      reply.raw.once('close', giveBack);
    }
    return undefined;
  };
  return {
    countAddress,
    countAttempt,
    countAgain: countClient,
    admit: async (request, reply) => {
      const { authorization } = request.headers;
      if (!hasBearerToken(authorization)) {
        return problem('unauthorized');
      }
      const recalled = accessTokens.recall(authorization);
      const known = recalled && callers.recall(recalled.authorization);
      const refused = known ? undefined : await countAttempt(request);
      if (refused) {
        return refused;
      }
      const presented = recalled ?? (await accessTokens.read(authorization));
      if (!presented) {
        return unauthorized();
      }
      const found = known ?? (await callers.find(presented.authorization));
      if (!isCaller(found)) {
        return upstreamProblem(found, config);
      }
      if (!accessTokens.admits(presented, found)) {
        return unauthorized(
          `This token was issued by Medplum itself. Portals get theirs from ${oauthEndpoints(addresses).token_endpoint}, with the sealed secret that the clinic hands out.`,
        );
      }
      request.caller = found;
      request.medplumAuthorization = presented.authorization;
      return (await countClient(request)) ?? takePlace(found, reply);
    },
  };
}
