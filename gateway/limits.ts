import { type BookingConfig, timeLimits } from '../core/config/config.ts';
import type { UpstreamLimits } from './medplum/client.ts';
import type { MemoryLimits } from './medplum/response-memory.ts';

/**
 * Callers meet five kinds of limits. Of each gateway: those of an address, of a client, and of the changes of a
 * requestor. Of a portal: those of its visitors (`apps/portal/http/limits.ts`). Of all gateways together: the booking
 * policy and the open appointments of a requestor, which the Bots check. The suffix of a name is its unit (`Ms`
 * milliseconds, `Bytes` bytes); rates are per minute, all other limits are counts.
 */
export const fixedLimits = {
  // An address: strangers must not block others.
  /** A clinic, or all customers of a provider, may share an address. */
  requestsPerMinuteAndAddress: 12_000,
  /** Requests for which Medplum checks credentials (new tokens and `/oauth2`), against guessing. */
  attemptsPerMinuteAndAddress: 120,

  // A client, from any address and with any token: no client may starve the others.
  requestsPerMinute: 6_000,
  /** A quarter of the connections to Medplum. */
  concurrentRequests: 32,
  /** Requests that wait for the client's other requests; further ones are refused. */
  waitingRequests: 200,
  /**
   * Bound websockets of all clients: each holds a connection to Medplum. One client has a tenth of them. A fifth as many
   * may wait to be bound, a tenth of these from one address.
   */
  websockets: 1_000,
  /** Concurrent requests with large responses, which use much memory. One client has half of them. */
  large: 4,
  /** A request is large if the responses for it have at least this size. */
  largeBytes: 1024 * 1024,

  // The changes of a requestor; `requestors.maxBookingsPerMinute` is their rate.
  /**
   * Concurrent changes: a burst of one requestor takes no more of Medplum's processor from the bookings of others. Four
   * are as many as one Medplum server carries out without delay.
   */
  concurrentChanges: 4,

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

  // Medplum, and connections.
  connections: 128,
  connectTimeoutMs: 2_000,
  /** Time limit of the readiness probe: orchestrators give up after that. */
  readyTimeoutMs: 2_000,
  /** Maximum time that a search waits for an identical one that started earlier. */
  collapseMs: 1_000,
  /** How long a websocket may be open before a token is sent. */
  bindMs: 10_000,
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

/**
 * The weights of a requestor's requests within its changes per minute. The Bots read for each request from a Medplum
 * quota that all requestors share, for a refused one more. A Subscription sends a request to an endpoint.
 */
export const changeWeights = { read: 1, refused: 2, change: 5, subscription: 50 } as const;

/** The weight that one requestor may have in a minute. */
export const changesPerMinute = ({ requestors }: BookingConfig): number =>
  changeWeights.change * requestors.maxBookingsPerMinute;
