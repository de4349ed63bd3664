import type { WithId } from '@medplum/core';
import type { ProjectMembership, Reference } from '@medplum/fhirtypes';
import { resourcesOf, type UnitOfWork } from '../storage/unit-of-work.ts';

/** The membership under which a profile (a Bot, a ClientApplication …) belongs to the project. */
export function findMembership(
  unit: Pick<UnitOfWork, 'newest'>,
  profile: Reference,
): WithId<ProjectMembership> | undefined {
  return resourcesOf(unit, 'ProjectMembership').find((one) => one.profile.reference === profile.reference);
}
