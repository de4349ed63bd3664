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
  /** The project whose resources are visible; absent for the server itself. */
  readonly project?: WithId<Project>;
  /** The caller's rights; absent: all. */
  readonly accessPolicy?: AccessPolicy;
  /** The server itself, which bypasses all rules. */
  readonly isSystem: boolean;
  /** Whether author, project and the like are shown in `meta` (header `X-Medplum: extended`). */
  readonly isExtended: boolean;
}

export const system: Caller = {
  author: { reference: 'system' },
  isSystem: true,
  isExtended: true,
};

/** An authenticated member of the project. */
export interface Session {
  readonly membership: WithId<ProjectMembership>;
  /** The login in its tokens: here the membership. With Basic authentication there is none. */
  readonly loginId: string | undefined;
  readonly project: WithId<Project>;
  readonly profile: WithId<Bot | ClientApplication | Practitioner>;
  readonly caller: Caller;
}

/** The input of a Bot run. */
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

/** The result of running a Bot. `returnValue` is the handler's value or, as an OperationOutcome, its error. */
export interface BotResult {
  readonly success: boolean;
  readonly logResult: string;
  readonly returnValue?: unknown;
}

/** The log of the sandbox. It receives neither tokens nor resources. */
export interface SandboxLogger {
  info(message: string, details?: Readonly<Record<string, unknown>>): void;
  warn(message: string, details?: Readonly<Record<string, unknown>>): void;
}

/** The services that the parts of the sandbox share. A part knows the others only through this. */
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
   * The meaning of a busy Slot. In 5.1.23 it blocks its time for every service. In newer servers, a Slot that names
   * services blocks it for these only, and `slotCapacity` says how many appointments may overlap.
   */
  readonly scheduling: '5.1.23' | 'newest';
  executeBot(request: BotRequest): Promise<BotResult>;
  /** Number of Subscriptions that a member has bound to websockets; `user` is the reference to its profile. */
  boundSubscriptions(user: string): number;
}
