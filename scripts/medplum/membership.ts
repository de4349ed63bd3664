import type { ProjectMembership } from '@medplum/fhirtypes';
import type { Connection } from './connect.ts';

/**
 * Gives the holder of a profile this AccessPolicy if it has another one.
 *
 * @param profile - reference to a Bot or ClientApplication
 * @param policyId - id of the AccessPolicy
 * @param options - `isAdmin`: whether it administers the project; without it that stays as it is
 * @returns whether the membership was (or in a dry run would be) changed
 * @throws Error when the profile has no membership in the project
 */
export async function assignPolicy(
  { medplum }: Connection,
  profile: string,
  policyId: string | undefined,
  { dryRun = false, isAdmin }: { readonly dryRun?: boolean; readonly isAdmin?: boolean } = {},
): Promise<boolean> {
  const membership: ProjectMembership | undefined = await medplum.searchOne('ProjectMembership', { profile });
  if (!membership) {
    throw new Error(`${profile} has no ProjectMembership. Delete it and deploy again.`);
  }
  const reference = policyId && `AccessPolicy/${policyId}`;
  const isSame = isAdmin === undefined || (membership.admin ?? false) === isAdmin;
  if (!reference || (membership.accessPolicy?.reference === reference && isSame)) {
    return false;
  }
  if (!dryRun) {
    const admin = isAdmin ?? membership.admin;
    await medplum.updateResource<ProjectMembership>({
      ...membership,
      accessPolicy: { reference },
      ...(!isSame && { admin }),
    });
  }
  return true;
}
