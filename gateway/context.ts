import type { BookingConfig } from '../core/config/config.ts';
import { timeLimits } from '../core/config/time-limits.ts';
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
 * The limits of a gateway, by whom they hold back: an address, a client, what one request holds, and what Medplum is asked. What
 * a requestor changes is in `requestors` of the configuration (`limiting-changes.ts`), what it may book in the policy; visitors
 * are the portal's own. Names end with their unit: `Ms` milliseconds, `Bytes` bytes; rates are per minute, all others counts.
 */
export const fixedLimits = {
  // An address: whoever is not known yet must not keep others from being served.
  /** A clinic, or all customers of a provider, may share an address. */
  requestsPerMinuteAndAddress: 12_000,
  /** What makes Medplum check credentials: new tokens, and those for `/oauth2`. Guessing must not pay. */
  attemptsPerMinuteAndAddress: 120,
  /** Websockets that wait to be bound, at all addresses; they take no places from bound ones. */
  unboundWebsockets: 200,
  unboundWebsocketsPerAddress: 20,
  /** How long a websocket may be open before a token is sent. */
  bindMs: 10_000,

  // A client, from any address and with any token: none takes what others need.
  requestsPerMinute: 6_000,
  /** A quarter of the connections to Medplum. */
  concurrentRequests: 32,
  /** Requests that wait for the client's other requests; those beyond are refused at once. */
  waitingRequests: 200,
  /** Bound websockets, of all clients and of one: each holds a connection to Medplum. */
  websockets: 1_000,
  websocketsPerClient: 100,
  /** Requests with large answers that are carried out at once, of all clients and of one: they fill the memory. */
  large: 4,
  largePerClient: 2,
  /** Bytes of one request's answers from which it is large. */
  largeBytes: 1024 * 1024,

  // One request.
  bodyBytes: 1024 * 1024,
  /** Each operation of a patch is applied by itself. */
  patchBytes: 256 * 1024,
  /** The form of a search. */
  formBytes: 64 * 1024,
  /** Nesting of objects and arrays in a body: what reads it calls itself. */
  depth: 64,
  /** An answer of Medplum; one to a Bot that the gateway runs, or over a websocket; all those for one batch. */
  responseBytes: 8 * 1024 * 1024,
  botResponseBytes: 64 * 1024 * 1024,
  batchBytes: 8 * 1024 * 1024,

  // Medplum.
  connections: 128,
  connectTimeoutMs: 2_000,
  /** A probe of readiness that takes longer is given up by what probes. */
  readyTimeoutMs: 2_000,
  /** How long a search waits for the end of the same search that began before it. */
  collapseMs: 1_000,
  /** How often websockets are pinged to see whether their clients are still there; proxies close those silent for a minute. */
  pingMs: 30_000,
  /** How long a shutdown waits for running requests. */
  drainTimeoutMs: 20_000,
} as const;

/** Limits of the gateway; every one has a default. */
export interface GatewayLimits
  extends Readonly<Record<keyof typeof fixedLimits, number>>,
    UpstreamLimits,
    MemoryLimits {
  /** Time in which the headers of a request must have arrived, in milliseconds. */
  readonly headersTimeoutMs: number;
  /** How long a booking waits for others of the same slot before it, in milliseconds. */
  readonly turnMs: number;
}

/** The limits of a gateway, unless its start sets others. */
export function defaultLimits(config: Pick<BookingConfig, 'timeout'>): GatewayLimits {
  const { headers, request, answer, place, turn } = timeLimits(config);
  const arrival = { headersTimeoutMs: headers, requestTimeoutMs: request };
  return { ...fixedLimits, ...arrival, upstreamTimeoutMs: answer, placeMs: place, turnMs: turn };
}

/** How portals are kept from using their credentials at Medplum itself. */
export interface SealingOptions {
  /** The keys that secrets and tokens are sealed with; all gateways of an installation need the same. */
  readonly keys: CredentialKeys;
  /** What happens when a portal sends Medplum's own secrets and tokens. */
  readonly unsealed: UnsealedPolicy;
}

/** Sealing, ready for use. */
export interface Sealing extends SealingOptions {
  readonly tokens: SealedTokens;
}

/** What every handler works with. */
export interface GatewayContext {
  readonly config: BookingConfig;
  readonly limits: GatewayLimits;
  readonly addresses: Addresses;
  readonly upstream: Upstream;
  readonly memory: ResponseMemory;
  readonly bots: BotRuntime;
  readonly callers: Callers;
  readonly calendars: Calendars;
  /** Identical searches that run at the same time, by caller and everything that they ask for. */
  readonly searches: Collapsing<FhirResponse>;
  readonly leads: LeadMemory;
  readonly turns: BookingQueue;
  readonly changes: RateLimit;
  readonly subscriptionChanges: RateLimit;
  /** What changes nothing: what is only asked, and what is refused, by requestor and which of the two it is. */
  readonly inVain: RateLimit;
  readonly bindingTokens: BindingTokens;
  /** Reads the tokens of callers. */
  readonly accessTokens: AccessTokens;
  readonly sealing: Sealing;
  /** The clock, in milliseconds. */
  readonly now: () => number;
  /** The origins whose scripts may call the interface from a browser. */
  readonly corsOrigins: readonly string[];
}
