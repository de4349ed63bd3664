import { createReference, type WithId } from '@medplum/core';
import type { Project, ProjectMembership } from '@medplum/fhirtypes';
import type { Logins } from './auth/logins.ts';
import type { Sessions } from './auth/sessions.ts';
import type { Tokens } from './auth/tokens.ts';
import type { Platform, Session } from './platform.ts';
import { SandboxRepository } from './repository/repository.ts';

/** The services that the HTTP routes share. */
export interface Services {
  readonly platform: Platform;
  readonly sessions: Sessions;
  readonly tokens: Tokens;
  readonly logins: Logins;
  /** Bypasses all rules. */
  readonly systemRepository: SandboxRepository;
}

/** The repository as a member of the project sees it. */
export function repositoryOf({ platform }: Pick<Services, 'platform'>, session: Session): SandboxRepository {
  return new SandboxRepository(platform, session.caller);
}

/** Creates a membership of the project. */
export const addMember = (
  repository: SandboxRepository,
  project: WithId<Project>,
  member: Omit<ProjectMembership, 'resourceType' | 'project'>,
): Promise<ProjectMembership> =>
  repository.createResource({ ...member, resourceType: 'ProjectMembership', project: createReference(project) });
