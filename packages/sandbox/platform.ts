import type { WithId } from '@medplum/core';
import type {
  AccessPolicy,
  Bot,
  ClientApplication,
  Practitioner,
  Project,
  ProjectMembership,
  Reference,
  ResourceType,
  Subscription,
} from '@medplum/fhirtypes';
import type { Store } from './storage/store.ts';
import type { Announce, Commit, UnitOfWork } from './storage/unit-of-work.ts';

/** The identity under which the repository acts. */
export interface Caller {
  /** Written to `meta.author`. */
  readonly author: Reference;
  /** The project whose resources are visible; none for the server itself. */
  readonly project?: WithId<Project>;
  /** What may be done; without one, everything. */
  readonly accessPolicy?: AccessPolicy;
  /** The server itself, which bypasses all rules. */
  readonly isSystem: boolean;
  /** Whether author, project and the like are shown in `meta` (header `X-Medplum: extended`). */
  readonly isExtended: boolean;
}

/** The server acting for itself. */
export const system: Caller = {
  author: { reference: 'system' },
  isSystem: true,
  isExtended: true,
};

/** A member of the project that has proved who it is. */
export interface Session {
  readonly membership: WithId<ProjectMembership>;
  /** The login that its tokens name: here the membership. With Basic authentication there is none. */
  readonly loginId: string | undefined;
  readonly project: WithId<Project>;
  readonly profile: WithId<Bot | ClientApplication | Practitioner>;
  readonly caller: Caller;
}

/** What a Bot is called with. */
export interface BotRequest {
  readonly bot: WithId<Bot>;
  readonly runAs: WithId<ProjectMembership>;
  readonly requester?: Reference | undefined;
  readonly input: unknown;
  readonly contentType: string | undefined;
  readonly subscription?: Subscription;
  readonly traceId?: string;
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
}

/** The result of running a Bot. `returnValue` is what its handler returned or, as an OperationOutcome, threw. */
export interface BotResult {
  readonly success: boolean;
  readonly logResult: string;
  readonly returnValue?: unknown;
}

/** Where the sandbox logs what it does. Neither tokens nor resources are passed to it. */
export interface SandboxLogger {
  info(message: string, details?: Readonly<Record<string, unknown>>): void;
  warn(message: string, details?: Readonly<Record<string, unknown>>): void;
}

/** What the parts of the sandbox share; they know each other only through this. */
export interface Platform {
  /** Address of the server with a slash at its end; known once it listens. */
  baseUrl(): string;
  readonly store: Store;
  readonly commit: Commit;
  readonly announce: Announce;
  /** Reads and writes without a transaction, bypassing all rules. */
  readonly unit: UnitOfWork;
  /** Removes a resource with all its versions, without notifying anyone. */
  expunge(type: ResourceType, id: string): Promise<void>;
  readonly logger: SandboxLogger;
  now(): Date;
  newId(): string;
  /**
   * What taken time means. As 5.1.23 has it, a taken Slot takes all of its time, for every service. As newer servers have
   * it, one that names services takes it from these alone, and as many appointments lie side by side as `slotCapacity` says.
   */
  readonly scheduling: '5.1.23' | 'newest';
  executeBot(request: BotRequest): Promise<BotResult>;
  /** How many Subscriptions a member has bound to websockets; `user` is the reference to its profile. */
  boundSubscriptions(user: string): number;
}
