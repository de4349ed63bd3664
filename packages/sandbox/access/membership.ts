import type { WithId } from '@medplum/core';
import type { ProjectMembership, Reference } from '@medplum/fhirtypes';
import type { UnitOfWork } from '../storage/unit-of-work.ts';

/** The membership under which a profile (a Bot, a ClientApplication …) belongs to the project. */
export function findMembership(
  unit: Pick<UnitOfWork, 'newest'>,
  profile: Reference,
): WithId<ProjectMembership> | undefined {
  for (const { resource } of unit.newest('ProjectMembership')) {
    if (resource?.resourceType === 'ProjectMembership' && resource.profile.reference === profile.reference) {
      return resource;
    }
  }
  return undefined;
}
