import { createHash } from 'node:crypto';
import { isAssistant, type Role, roleOf } from '../../core/booking/policy/caller-rights.ts';
import { isObject } from '../../core/fhir/resource.ts';
import type { ServedTypeName } from '../served-types.ts';
import { typesFoundWhole, type VersionAccesses, versionAccesses } from './access-policy.ts';
import type { MedplumResponse, Upstream, UpstreamFailure } from './client.ts';
import { isRefusal } from './errors.ts';
import { createMemory } from './memory.ts';

/** The caller: the profile of the token's owner in Medplum, and what its AccessPolicy lets it find. */
export interface Caller {
  readonly profileType: string;
  readonly profileId: string;
  /** The id of the Project that it belongs to, as far as Medplum says. */
  readonly project?: string | undefined;
  /** The caller's name, if the membership has it. */
  readonly display?: string | undefined;
  /** The role in which the caller acts: clinic staff or a requestor. */
  readonly role: Role;
  /** Whether it is an assistant, which uses the tools at `/mcp` and nothing else. */
  readonly isAssistant?: boolean;
  /** The types of which the caller finds every resource. */
  readonly findsAllOf: readonly ServedTypeName[];
  /** Which versions of a resource the caller may see. */
  readonly versions: VersionAccesses;
}

/** A caller, or why the caller is not known: the answer that refuses the token, or the failure to get one. */
export type Identification = Caller | MedplumResponse | UpstreamFailure;

/** Finds out who calls. */
export interface Callers {
  /** The cached result for a token; `undefined` if Medplum must be asked. */
  readonly recall: (authorization: string) => Identification | undefined;
  /** Identifies the caller, from memory or from Medplum. */
  readonly find: (authorization: string) => Promise<Identification>;
  /** Identifies the caller by Medplum, because a remembered token may be refused now. */
  readonly verify: (authorization: string) => Promise<Identification>;
}

/** The `Authorization` header of a bearer token (https://www.rfc-editor.org/rfc/rfc6750#section-2.1). */
const bearer = /^Bearer +[A-Za-z0-9\-._~+/]+=*$/i;

/** Whether a request carries a bearer token. Medplum decides whether the token is good. */
export function hasBearerToken(authorization: string | undefined): authorization is string {
  return authorization !== undefined && bearer.test(authorization);
}

/** A name for a token that does not give the token away. */
export function fingerprint(authorization: string): string {
  return createHash('sha256').update(authorization).digest('base64url');
}

/** The caller that `GET /auth/me` describes; `undefined` without a profile or a role in the service. */
function callerOf(body: unknown): Caller | undefined {
  const { project, profile, membership, accessPolicy } = isObject(body) ? body : {};
  const name = isObject(membership) && isObject(membership.profile) ? membership.profile.display : undefined;
  const display = typeof name === 'string' ? { display: name } : {};
  const hasProfile = isObject(profile) && typeof profile.resourceType === 'string' && typeof profile.id === 'string';
  const findsAllOf = typesFoundWhole(accessPolicy);
  const versions = versionAccesses(accessPolicy);
  const role = roleOf(body);
  return hasProfile && role
    ? {
        profileType: String(profile.resourceType),
        profileId: String(profile.id),
        ...(isObject(project) && typeof project.id === 'string' && { project: project.id }),
        ...display,
        role,
        ...(isAssistant(body) && { isAssistant: true }),
        findsAllOf,
        versions,
      }
    : undefined;
}

/** Whether the caller was identified. */
export function isCaller(found: Identification): found is Caller {
  return 'profileId' in found;
}

/** The name by which limits count a caller; empty for nobody. */
export const nameOf = (caller: Caller | undefined): string =>
  caller ? `${caller.profileType}/${caller.profileId}` : '';

const memorySize = 1_000;
const verifiedMs = 60_000;
const refusedMs = 10_000;

/**
 * How many of these requests to Medplum may be open: unknown callers must not use up the connections that bookings need.
 */
const maxOpenRequests = 32;

/**
 * Asks Medplum (`GET /auth/me`) who owns a token. The answer is remembered under the token's fingerprint, for a minute,
 * or for ten seconds if Medplum refuses the token. Refused tokens are remembered separately, so that they cannot push out
 * verified ones. While too many requests are open, further ones fail with `unavailable`.
 */
export function createCallers(upstream: Upstream, now: () => number): Callers {
  const verified = createMemory<Caller>(memorySize, verifiedMs, now);
  const refused = createMemory<MedplumResponse>(memorySize, refusedMs, now);
  const openRequests = new Map<string, Promise<Identification>>();
  const askMedplum = async (key: string, authorization: string): Promise<Identification> => {
    const response = await upstream.call({ method: 'GET', path: 'auth/me', headers: { authorization } });
    if ('failure' in response || response.status !== 200) {
      if (!('status' in response) || !isRefusal(response)) {
        return response;
      }
      verified.forget(key);
      const refusal = { status: 401, headers: {}, body: undefined };
      refused.set(key, refusal);
      return refusal;
    }
    const caller = callerOf(response.body);
    if (!caller) {
      return { failure: 'broken' };
    }
    verified.set(key, caller);
    return caller;
  };
  const recall = (key: string): Identification | undefined => verified.get(key) ?? refused.get(key);
  const find = async (key: string, authorization: string): Promise<Identification> => {
    const openRequest = openRequests.get(key);
    if (openRequest !== undefined) {
      return openRequest;
    }
    if (openRequests.size >= maxOpenRequests) {
      return { failure: 'unavailable' };
    }
    const request = askMedplum(key, authorization).finally(() => openRequests.delete(key));
    openRequests.set(key, request);
    return request;
  };
  return {
    recall: (authorization) => recall(fingerprint(authorization)),
    find: async (authorization) => {
      const key = fingerprint(authorization);
      return recall(key) ?? find(key, authorization);
    },
    verify: (authorization) => find(fingerprint(authorization), authorization),
  };
}
