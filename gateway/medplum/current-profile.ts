import { createHash } from 'node:crypto';
import { isObject } from '../../core/fhir/resource.ts';
import type { ServedTypeName } from '../served-types.ts';
import { typesFoundWhole } from './access-policy.ts';
import type { Upstream, UpstreamAnswer, UpstreamFailure } from './client.ts';

/** Who calls: the profile that Medplum knows the token's owner by, and what its AccessPolicy lets it find. */
export interface Caller {
  readonly profileType: string;
  readonly profileId: string;
  /** The types of which the caller finds every resource. */
  readonly findsAllOf: readonly ServedTypeName[];
}

/** Finds out who calls. */
export interface Callers {
  /** @returns the caller, or the answer or failure that says why it is not known */
  readonly find: (authorization: string) => Promise<Caller | UpstreamAnswer | UpstreamFailure>;
}

/** The `Authorization` header of a bearer token (https://www.rfc-editor.org/rfc/rfc6750#section-2.1). */
const bearer = /^Bearer +[A-Za-z0-9\-._~+/]+=*$/i;

/** Whether a request carries a bearer token. Whether the token is good, Medplum decides. */
export function hasBearerToken(authorization: string | undefined): authorization is string {
  return authorization !== undefined && bearer.test(authorization);
}

/** A name for a token that does not give the token away. */
export function fingerprint(authorization: string): string {
  return createHash('sha256').update(authorization).digest('base64url');
}

function callerOf(body: unknown): Caller | undefined {
  const { profile, accessPolicy } = isObject(body) ? body : {};
  const isKnown = isObject(profile) && typeof profile.resourceType === 'string' && typeof profile.id === 'string';
  const findsAllOf = typesFoundWhole(accessPolicy);
  return isKnown ? { profileType: String(profile.resourceType), profileId: String(profile.id), findsAllOf } : undefined;
}

/** Whether the question who calls was answered. */
export function isCaller(found: Caller | UpstreamAnswer | UpstreamFailure): found is Caller {
  return 'profileId' in found;
}

const maxAgeMs = 60_000;
const maxCallers = 1_000;

/**
 * Asks Medplum (`GET /auth/me`) who owns a token, and remembers the answer for a minute under the token's fingerprint;
 * of more than a thousand the one that was not asked for longest is forgotten.
 *
 * @param now - the clock, in milliseconds
 */
export function createCallers(upstream: Upstream, now: () => number): Callers {
  const known = new Map<string, { caller: Caller; until: number }>();
  const remember = (key: string, entry: { caller: Caller; until: number }): void => {
    known.delete(key);
    known.set(key, entry);
    const oldest = known.keys().next().value;
    if (known.size > maxCallers && oldest !== undefined) {
      known.delete(oldest);
    }
  };
  return {
    find: async (authorization) => {
      const key = fingerprint(authorization);
      const entry = known.get(key);
      if (entry && entry.until > now()) {
        remember(key, entry);
        return entry.caller;
      }
      const answer = await upstream.call({ method: 'GET', path: 'auth/me', headers: { authorization } });
      if ('failure' in answer || answer.status !== 200) {
        return answer;
      }
      const caller = callerOf(answer.body);
      if (!caller) {
        return { failure: 'broken' };
      }
      remember(key, { caller, until: now() + maxAgeMs });
      return caller;
    },
  };
}
