import type { BookingConfig } from '../core/config/config.ts';
import { timeLimits } from '../core/config/time-limits.ts';
import type { RateLimit } from './admission/rate-limit.ts';
import type { BookingQueue } from './booking-queue.ts';
import type { BotRuntime } from './bots/runtime.ts';
import type { FhirResponse } from './http/response.ts';
import type { Addresses } from './medplum/address-rewriting.ts';
import type { AnswerMemory, MemoryLimits } from './medplum/answer-memory.ts';
import type { Upstream, UpstreamLimits } from './medplum/client.ts';
import type { Callers } from './medplum/current-profile.ts';
import type { AccessTokens, UnsealedPolicy } from './sealing/access-tokens.ts';
import type { CredentialKeys } from './sealing/credential-keys.ts';
import type { SealedTokens } from './sealing/sealed-token.ts';
import type { Calendars } from './search/calendars.ts';
import type { Collapsing } from './search/collapse.ts';
import type { LeadMemory } from './search/leads.ts';
import type { BindingTokens } from './websocket/binding-token.ts';

/** The limits that no installation sets. Those that end in `Ms` are milliseconds, in `Bytes` bytes. */
export const fixedLimits = {
  /** Largest request body. */
  bodyBytes: 1024 * 1024,
  /** Largest body of a PATCH. */
  patchBytes: 256 * 1024,
  /** Largest form of a search. */
  formBytes: 64 * 1024,
  /** Deepest nesting of objects and arrays in a request body. */
  depth: 64,
  connectTimeoutMs: 2_000,
  responseBytes: 8 * 1024 * 1024,
  /** Bytes that Medplum may answer a Bot that the gateway runs, or send over a websocket. */
  botResponseBytes: 64 * 1024 * 1024,
  /** Bytes of Medplum's answers after which no further entry of a batch is answered. */
  batchBytes: 8 * 1024 * 1024,
  largeBytes: 1024 * 1024,
  largePerClient: 2,
  large: 4,
  connections: 128,
  /** Time for the readiness check of Medplum. */
  readyTimeoutMs: 2_000,
  /** How long a shutdown waits for running requests. */
  drainTimeoutMs: 20_000,
  /** How long a search waits for the end of the same search that began before it. */
  collapseMs: 1_000,
  /** Websockets that may be bound at the same time. */
  websockets: 1_000,
  /** Websockets of one client that may be bound at the same time. */
  websocketsPerClient: 100,
  /** Websockets from all addresses that may wait to be bound; they take no places from bound ones. */
  unboundWebsockets: 200,
  /** Websockets from one address that may wait to be bound. */
  unboundWebsocketsPerAddress: 20,
  /** How long a websocket may be open before a token is sent. */
  bindMs: 10_000,
  /** How often websockets are pinged to see whether their clients are still there. */
  pingMs: 30_000,
  /** Requests that one client may send in a minute, from any address and with any token. */
  requestsPerMinute: 6_000,
  /** Requests that may come from one address in a minute. */
  requestsPerMinuteAndAddress: 12_000,
  /** Requests of one address in a minute whose credentials Medplum has to check: new tokens, and those for `/oauth2`. */
  attemptsPerMinuteAndAddress: 120,
  /** Calls of tools that one assistant may make in a minute. */
  toolCallsPerMinute: 120,
  /** Requests of one client that are carried out at the same time. */
  concurrentRequests: 32,
  /** Requests of one client that may wait for its other requests. */
  waitingRequests: 200,
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
  readonly memory: AnswerMemory;
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
  /** Absent where portals get Medplum's own tokens. */
  readonly sealing: Sealing | undefined;
  /** The clock, in milliseconds. */
  readonly now: () => number;
  /** The origins whose scripts may call the interface from a browser. */
  readonly corsOrigins: readonly string[];
}
