import { matchesSearchRequest, parseSearchRequest, satisfiedAccessPolicy } from '@medplum/core';
import type { Subscription } from '@medplum/fhirtypes';
import { adminTypes } from '../access/policy.ts';
import type { Sessions } from '../auth/sessions.ts';
import { isMatched } from '../jobs/match.ts';
import type { Session } from '../platform.ts';
import type { Change, StoredResource } from '../storage/change.ts';
import { resourceOf, type UnitOfWork } from '../storage/unit-of-work.ts';
import type { BindingClaims } from './binding-token.ts';

/** Decides who is notified, by the members of the project and their rights. */
export interface Audience {
  isEnabled(resource: StoredResource): boolean;
  /** Whether the member who bound a Subscription may still receive notifications. */
  isMember(claims: BindingClaims): boolean;
  /** Whether the member who bound a Subscription may read a resource under its current AccessPolicy. */
  mayRead(claims: BindingClaims, resource: StoredResource): boolean;
}

/** @param unit - reads projects and memberships, bypassing all rules */
export function createAudience(unit: Pick<UnitOfWork, 'find'>, sessions: Pick<Sessions, 'of'>): Audience {
  function sessionOf({ membership_id }: BindingClaims): Session | undefined {
    const membership = resourceOf(unit, 'ProjectMembership', membership_id);
    try {
      return membership && sessions.of(membership, true);
    } catch {
      return undefined; // an access policy of the member is missing
    }
  }

  return {
    isEnabled({ meta }) {
      const project = resourceOf(unit, 'Project', meta?.project);
      return project?.features?.includes('websocket-subscriptions') ?? false;
    },
    isMember: (claims) => sessionOf(claims) !== undefined,
    mayRead(claims, resource) {
      const policy = sessionOf(claims)?.caller.accessPolicy;
      // The additional rights of administrators do not count here.
      const isCovered = policy && !adminTypes.includes(resource.resourceType);
      return Boolean(isCovered && satisfiedAccessPolicy(resource, 'read', policy));
    },
  };
}

/**
 * Whether a change concerns a Subscription that is bound to websockets. Its status does not matter.
 *
 * @param criteria - those at the time of the binding; the current criteria must match, too
 */
export async function concerns(
  change: Change,
  resource: StoredResource,
  subscription: Subscription,
  criteria: string,
): Promise<boolean> {
  const isElsewhere = subscription.meta?.project !== resource.meta?.project;
  if (isElsewhere || criteria.split('?', 1)[0] !== resource.resourceType) {
    return false;
  }
  try {
    return (
      matchesSearchRequest(resource, parseSearchRequest(criteria)) && (await isMatched(change, resource, subscription))
    );
  } catch {
    return false;
  }
}
