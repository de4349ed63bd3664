import { badRequest, createReference, isResourceType, OperationOutcomeError, type WithId } from '@medplum/core';
import type { AccessPolicy, ClientApplication, ProjectMembership } from '@medplum/fhirtypes';
import { findMembership } from '../access/membership.ts';
import { effectivePolicy } from '../access/policy.ts';
import type { Session } from '../platform.ts';
import type { StoredResource } from '../storage/change.ts';
import { resourceOf, resourcesOf, type UnitOfWork } from '../storage/unit-of-work.ts';
import type { Logins } from './logins.ts';
import { isSame, type Tokens } from './tokens.ts';

/** Fixed bearer tokens of the sandbox, each with the name of its ClientApplication. */
export const fixedTokens: Readonly<Record<string, string>> = {
  'portal-a': 'Portal A',
  'portal-b': 'Portal B',
  'front-desk': 'Front desk',
  admin: 'Administrator',
};

/** Authenticates callers. */
export interface Sessions {
  /**
   * The session of the member that an `Authorization` header identifies; `undefined` if it identifies none (401).
   *
   * @param isExtended - whether the caller asked for Medplum's own fields in `meta`
   * @throws OperationOutcomeError (400) if the member was deleted after its token was issued, or its access policy is
   *   missing
   */
  authenticate(authorization: string | undefined, isExtended: boolean): Session | undefined;
  /** The session of a member that is already authenticated. */
  of(membership: WithId<ProjectMembership>, isExtended: boolean): Session | undefined;
  client(id: string, secret: string): WithId<ClientApplication> | undefined;
}

type Reader = Pick<UnitOfWork, 'find' | 'newest'>;

function follow(unit: Reader, reference: string | undefined): StoredResource | undefined {
  const [type = '', id = ''] = reference?.split('/') ?? [];
  return isResourceType(type) ? unit.find(type, id)?.resource : undefined;
}

const profileTypes: readonly string[] = ['Bot', 'ClientApplication', 'Practitioner'];

function isProfile(resource: StoredResource | undefined): resource is Session['profile'] {
  return resource !== undefined && profileTypes.includes(resource.resourceType);
}

/**
 * Caches effective policies: computing one takes longer than most requests. An entry is valid as long as its sources do
 * not change.
 */
function policyCache(unit: Reader): (membership: ProjectMembership) => AccessPolicy {
  interface Entry {
    readonly made: AccessPolicy;
    readonly from: ReadonlyMap<string, AccessPolicy | undefined>;
  }
  const cache = new WeakMap<ProjectMembership, Entry>();
  const policy = (reference: string | undefined): AccessPolicy | undefined => {
    const found = follow(unit, reference);
    return found?.resourceType === 'AccessPolicy' ? found : undefined;
  };
  return (membership) => {
    const known = cache.get(membership);
    if (known && [...known.from].every(([reference, resource]) => policy(reference) === resource)) {
      return known.made;
    }
    const from = new Map<string, AccessPolicy | undefined>();
    const made = effectivePolicy(membership, ({ reference = '' }) => {
      from.set(reference, policy(reference));
      return from.get(reference);
    });
    cache.set(membership, { made, from });
    return made;
  };
}

/**
 * @param unit - reads members, projects and policies, bypassing all rules
 * @param tokens - checks issued tokens
 * @param logins - knows which sign-ins have ended
 */
export function createSessions(unit: Reader, tokens: Tokens, logins: Logins): Sessions {
  const policyOf = policyCache(unit);

  function of(membership: WithId<ProjectMembership>, isExtended: boolean): Session | undefined {
    const profile = follow(unit, membership.profile.reference);
    const project = follow(unit, membership.project.reference);
    if (project?.resourceType !== 'Project' || !isProfile(profile) || membership.active === false) {
      return undefined;
    }
    const caller = {
      author: createReference(profile),
      project,
      accessPolicy: policyOf(membership),
      isSystem: false,
      isExtended,
    };
    return { membership, loginId: membership.id, project, profile, caller };
  }

  function client(id: string, secret: string): WithId<ClientApplication> | undefined {
    const found = resourceOf(unit, 'ClientApplication', id);
    return found?.secret && isSame(found.secret, secret) ? found : undefined;
  }

  function member(scheme: string | undefined, credentials: string): WithId<ProjectMembership> | undefined {
    if (scheme === 'Basic') {
      const [id = '', secret = ''] = Buffer.from(credentials, 'base64').toString('ascii').split(':');
      const found = client(id, secret);
      return found && findMembership(unit, createReference(found));
    }
    if (scheme !== 'Bearer') {
      return undefined;
    }
    const name = Object.hasOwn(fixedTokens, credentials) ? fixedTokens[credentials] : undefined;
    const named = name && resourcesOf(unit, 'ClientApplication').find((one) => one.name === name);
    if (named) {
      return findMembership(unit, createReference(named));
    }
    const claims = tokens.verify(credentials);
    const isOver = claims?.refresh_secret !== undefined || logins.byId(claims?.session_id ?? '')?.isRevoked;
    return claims && !isOver ? holderOf(claims.login_id) : undefined;
  }

  /** The member that a valid token was issued to. If that member or its client is gone, Medplum does not answer 401. */
  function holderOf(login: string): WithId<ProjectMembership> {
    const found = resourceOf(unit, 'ProjectMembership', login);
    if (!found || !follow(unit, found.profile.reference)) {
      const outcome = badRequest('Authentication error');
      const issue = outcome.issue.map((one) => ({ ...one, diagnostics: 'OperationOutcomeError: Gone' }));
      throw new OperationOutcomeError({ ...outcome, issue });
    }
    return found;
  }

  return {
    of,
    client,
    authenticate(authorization, isExtended) {
      const [scheme, credentials] = authorization?.split(' ') ?? [];
      const membership = credentials ? member(scheme, credentials) : undefined;
      const session = membership && of(membership, isExtended);
      return session && scheme === 'Basic' ? { ...session, loginId: undefined } : session;
    },
  };
}
