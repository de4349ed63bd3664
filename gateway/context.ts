import type { BookingConfig } from '../core/config/config.ts';
import type { ClientPermits } from './admission/client-permits.ts';
import type { RateLimit } from './admission/rate-limit.ts';
import type { BookingQueue } from './booking-queue.ts';
import type { BotRuntime } from './bots/runtime.ts';
import type { FhirResponse } from './http/response.ts';
import type { GatewayLimits } from './limits.ts';
import type { Addresses } from './medplum/address-rewriting.ts';
import type { Upstream } from './medplum/client.ts';
import type { Callers } from './medplum/current-profile.ts';
import type { ResponseMemory } from './medplum/response-memory.ts';
import type { AccessTokens, UnsealedPolicy } from './sealing/access-tokens.ts';
import type { CredentialKeys } from './sealing/credential-keys.ts';
import type { SealedTokens } from './sealing/sealed-token.ts';
import type { Calendars } from './search/calendars.ts';
import type { Collapsing } from './search/collapse.ts';
import type { LeadMemory } from './search/leads.ts';
import type { BindingTokens } from './websocket/binding-token.ts';

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
  readonly bookingQueue: BookingQueue;
  /** The changes of requestors: in a minute, and concurrent ones. */
  readonly changes: RateLimit;
  readonly changePermits: ClientPermits;
  readonly bindingTokens: BindingTokens;
  /** Reads the tokens of callers. */
  readonly accessTokens: AccessTokens;
  readonly sealing: Sealing;
  /** The current time, in milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Origins that CORS allows. */
  readonly corsOrigins: readonly string[];
}
