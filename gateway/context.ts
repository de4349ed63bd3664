import { type BookingConfig, timeLimits } from '../core/config/config.ts';
import type { RateLimit } from './admission/rate-limit.ts';
import type { BookingQueue } from './booking-queue.ts';
import type { BotRuntime } from './bots/runtime.ts';
import type { FhirResponse } from './http/response.ts';
import type { Addresses } from './medplum/address-rewriting.ts';
import type { Upstream, UpstreamLimits } from './medplum/client.ts';
import type { Callers } from './medplum/current-profile.ts';
import type { MemoryLimits, ResponseMemory } from './medplum/response-memory.ts';
import type { AccessTokens, UnsealedPolicy } from './sealing/access-tokens.ts';
import type { CredentialKeys } from './sealing/credential-keys.ts';
import type { SealedTokens } from './sealing/sealed-token.ts';
import type { Calendars } from './search/calendars.ts';
import type { Collapsing } from './search/collapse.ts';
import type { LeadMemory } from './search/leads.ts';
import type { BindingTokens } from './websocket/binding-token.ts';

/**
 * The limits of a gateway, grouped by address, client, request and Medplum. Limits of a requestor's changes are in
 * `requestors` of the configuration (`limiting-changes.ts`), limits of its bookings in the booking policy. Portals
 * limit their own visitors. The suffix of a name is its unit (`Ms` milliseconds, `Bytes` bytes); rates are per minute,
 * all other limits are counts.
 */
export const fixedLimits = {
  // Per address: unauthenticated requests must not block others.
  /** A clinic, or all customers of a provider, may share an address. */
  requestsPerMinuteAndAddress: 12_000,
  /** Requests for which Medplum checks credentials (new tokens and `/oauth2`), against guessing. */
  attemptsPerMinuteAndAddress: 120,
  /** Websockets that wait to be bound, at all addresses; bound ones are counted separately. */
  unboundWebsockets: 200,
  unboundWebsocketsPerAddress: 20,
  /** How long a websocket may be open before a token is sent. */
  bindMs: 10_000,

  // Per client, from any address and with any token: no client may starve the others.
  requestsPerMinute: 6_000,
  /** A quarter of the connections to Medplum. */
  concurrentRequests: 32,
  /** Requests that wait for the client's other requests; further ones are refused at once. */
  waitingRequests: 200,
  /** Bound websockets, of all clients and of one: each holds a connection to Medplum. */
  websockets: 1_000,
  websocketsPerClient: 100,
  /** Concurrent requests with large responses, of all clients and of one: they use much memory. */
  large: 4,
  largePerClient: 2,
  /** A request is large if the responses for it have at least this size. */
  largeBytes: 1024 * 1024,

  // One request.
  bodyBytes: 1024 * 1024,
  /** Smaller than a body, because each operation of a patch is applied separately. */
  patchBytes: 256 * 1024,
  /** The form of a search. */
  formBytes: 64 * 1024,
  /** Nesting of objects and arrays in a body: the functions that read it are recursive. */
  depth: 64,
  /** A response of Medplum; one to a Bot in the gateway, or over a websocket; all responses of one batch. */
  responseBytes: 8 * 1024 * 1024,
  botResponseBytes: 64 * 1024 * 1024,
  batchBytes: 8 * 1024 * 1024,

  // Medplum.
  connections: 128,
  connectTimeoutMs: 2_000,
  /** Time limit of the readiness probe: orchestrators give up after that. */
  readyTimeoutMs: 2_000,
  /** Maximum time that a search waits for an identical one that started earlier. */
  collapseMs: 1_000,
  /**
   * Interval of websocket pings: they detect lost clients, and proxies close a websocket that is silent for a minute.
   */
  pingMs: 30_000,
  /** How long a shutdown waits for running requests. */
  drainTimeoutMs: 20_000,
} as const;

/** Limits of the gateway; every one has a default. */
export interface GatewayLimits
  extends Readonly<Record<keyof typeof fixedLimits, number>>,
    UpstreamLimits,
    MemoryLimits {
  /** Time limit for receiving the headers of a request, in milliseconds. */
  readonly headersTimeoutMs: number;
  /** Maximum time that a booking waits for earlier bookings of the same slot, in milliseconds. */
  readonly turnMs: number;
}

/** The default limits of a gateway. */
export function defaultLimits(config: Pick<BookingConfig, 'timeout'>): GatewayLimits {
  const { headers, request, answer, permitWait, turn } = timeLimits(config);
  const arrival = { headersTimeoutMs: headers, requestTimeoutMs: request };
  return { ...fixedLimits, ...arrival, upstreamTimeoutMs: answer, largeWaitMs: permitWait, turnMs: turn };
}

/** Options of sealing, which prevents portals from using their credentials at Medplum directly. */
export interface SealingOptions {
  /** The keys that seal secrets and tokens; all gateways of an installation need the same ones. */
  readonly keys: CredentialKeys;
  /** The policy for requests with Medplum's own, unsealed secrets and tokens. */
  readonly unsealed: UnsealedPolicy;
}

/** Sealing, ready for use. */
export interface Sealing extends SealingOptions {
  readonly tokens: SealedTokens;
}

/** The configuration and the shared services of all handlers. */
export interface GatewayContext {
  readonly config: BookingConfig;
  readonly limits: GatewayLimits;
  readonly addresses: Addresses;
  readonly upstream: Upstream;
  readonly memory: ResponseMemory;
  readonly bots: BotRuntime;
  readonly callers: Callers;
  readonly calendars: Calendars;
  /** Identical concurrent searches, by caller and query. */
  readonly searches: Collapsing<FhirResponse>;
  readonly leads: LeadMemory;
  readonly turns: BookingQueue;
  readonly changes: RateLimit;
  readonly subscriptionChanges: RateLimit;
  /** Limit of requests without effect, by requestor and kind: reads and refused requests. */
  readonly withoutEffect: RateLimit;
  readonly bindingTokens: BindingTokens;
  /** Reads the tokens of callers. */
  readonly accessTokens: AccessTokens;
  readonly sealing: Sealing;
  /** The current time, in milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Origins that CORS allows. */
  readonly corsOrigins: readonly string[];
}
