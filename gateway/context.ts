import type { BookingConfig } from '../core/config/config.ts';
import { timeLimits } from '../core/config/time-limits.ts';
import type { ChangeLimit } from './admission/change-limit.ts';
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

/** Limits of the gateway; every one has a default. */
export interface GatewayLimits extends UpstreamLimits, MemoryLimits {
  /** Bytes that Medplum may answer a Bot that the gateway runs, or send over a websocket. */
  readonly botResponseBytes: number;
  /** Bytes of Medplum's answers after which no further entry of a batch is answered. */
  readonly batchBytes: number;
  /** Largest request body, in bytes. */
  readonly bodyBytes: number;
  /** Largest body of a PATCH, in bytes. */
  readonly patchBytes: number;
  /** Largest form of a search, in bytes. */
  readonly formBytes: number;
  /** Deepest nesting of objects and arrays in a request body. */
  readonly depth: number;
  /** Time for the readiness check of Medplum, in milliseconds. */
  readonly readyTimeoutMs: number;
  /** Time in which the headers of a request must have arrived, in milliseconds. */
  readonly headersTimeoutMs: number;
  /** Time in which a whole request must have arrived, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** How long a shutdown waits for running requests, in milliseconds. */
  readonly drainTimeoutMs: number;
  /** How long a search waits for the end of the same search that began before it, in milliseconds. */
  readonly collapseMs: number;
  /** How long a booking waits for others of the same slot before it, in milliseconds. */
  readonly turnMs: number;
  /** Websockets that may be bound at the same time. */
  readonly websockets: number;
  /** Websockets of one client that may be bound at the same time. */
  readonly websocketsPerClient: number;
  /** Websockets from all addresses that may wait to be bound; they take no places from bound ones. */
  readonly unboundWebsockets: number;
  /** Websockets from one address that may wait to be bound. */
  readonly unboundWebsocketsPerAddress: number;
  /** How long a websocket may be open before a token is sent, in milliseconds. */
  readonly bindMs: number;
  /** How often websockets are pinged to see whether their clients are still there, in milliseconds. */
  readonly pingMs: number;
  /** Requests that one client may send in a minute, from any address and with any token. */
  readonly requestsPerMinute: number;
  /** Requests that may come from one address in a minute. */
  readonly requestsPerMinuteAndAddress: number;
  /** Requests of one address in a minute whose credentials Medplum has to check: new tokens, and those for `/oauth2`. */
  readonly attemptsPerMinuteAndAddress: number;
  /** Calls of tools that one assistant may make in a minute. */
  readonly toolCallsPerMinute: number;
  /** Requests of one client that are carried out at the same time. */
  readonly concurrentRequests: number;
  /** Requests of one client that may wait for its other requests. */
  readonly waitingRequests: number;
}

/** The limits that no installation sets. */
export const fixedLimits = {
  bodyBytes: 1024 * 1024,
  patchBytes: 256 * 1024,
  formBytes: 64 * 1024,
  depth: 64,
  connectTimeoutMs: 2_000,
  responseBytes: 8 * 1024 * 1024,
  botResponseBytes: 64 * 1024 * 1024,
  batchBytes: 8 * 1024 * 1024,
  largeBytes: 1024 * 1024,
  largePerClient: 2,
  large: 4,
  connections: 128,
  readyTimeoutMs: 2_000,
  drainTimeoutMs: 20_000,
  collapseMs: 1_000,
  websockets: 1_000,
  websocketsPerClient: 100,
  unboundWebsockets: 200,
  unboundWebsocketsPerAddress: 20,
  bindMs: 10_000,
  pingMs: 30_000,
  requestsPerMinute: 6_000,
  requestsPerMinuteAndAddress: 12_000,
  attemptsPerMinuteAndAddress: 120,
  toolCallsPerMinute: 120,
  concurrentRequests: 32,
  waitingRequests: 200,
} as const;

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
  readonly changes: ChangeLimit;
  readonly subscriptionChanges: ChangeLimit;
  /** What changes nothing: what is only asked, and what is refused, by requestor and which of the two it is. */
  readonly inVain: ChangeLimit;
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
