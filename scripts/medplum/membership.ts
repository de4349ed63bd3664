import type { ProjectMembership } from '@medplum/fhirtypes';
import type { Connection } from './connect.ts';

/**
 * Gives the holder of a profile this AccessPolicy if it has another one.
 *
 * @param profile - reference to a Bot or ClientApplication
 * @param policyId - id of the AccessPolicy
 * @returns whether the membership was (or in a dry run would be) changed
 * @throws Error when the profile has no membership in the project
 */
export async function assignPolicy(
  { medplum }: Connection,
  profile: string,
  policyId: string | undefined,
  dryRun = false,
): Promise<boolean> {
  const membership: ProjectMembership | undefined = await medplum.searchOne('ProjectMembership', { profile });
  if (!membership) {
    throw new Error(`${profile} has no ProjectMembership. Delete it and deploy again.`);
  }
  const reference = policyId && `AccessPolicy/${policyId}`;
  if (!reference || membership.accessPolicy?.reference === reference) {
    return false;
  }
  if (!dryRun) {
    await medplum.updateResource<ProjectMembership>({ ...membership, accessPolicy: { reference } });
  }
  return true;
}
