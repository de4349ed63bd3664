import type { WithId } from '@medplum/core';
import type { ClientApplication, ProjectMembership } from '@medplum/fhirtypes';
import type { Connection } from './connect.ts';

/** Credentials of a client's login. */
export interface ClientCredentials {
  readonly id: string;
  readonly secret: string;
}

/**
 * Creates a client with a secret and its membership in the project, as Medplum's own app does.
 *
 * @param body - its name and description, and a reference to its AccessPolicy
 */
export const createClient = (
  { medplum, projectId }: Connection,
  body: Pick<ClientApplication, 'name' | 'description'> & Pick<ProjectMembership, 'accessPolicy'>,
): Promise<WithId<ClientApplication>> => medplum.post(`admin/projects/${projectId}/client`, body);

/** @throws Error when the secret of the client cannot be read */
export function credentialsOf({ id, name, secret }: WithId<ClientApplication>): ClientCredentials {
  if (!secret) {
    throw new Error(
      `ClientApplication/${id} (${name}) has no secret that these credentials may read. If it has none, delete it and run ` +
        'this again.',
    );
  }
  return { id, secret };
}

/** The membership of a Bot or a client in the project, if it has one. */
export const membershipOf = (
  { medplum }: Pick<Connection, 'medplum'>,
  profile: string,
): Promise<WithId<ProjectMembership> | undefined> => medplum.searchOne('ProjectMembership', { profile });

/** @throws Error when it has none */
export async function requireMembership(
  connection: Pick<Connection, 'medplum'>,
  profile: string,
): Promise<WithId<ProjectMembership>> {
  const membership = await membershipOf(connection, profile);
  if (!membership) {
    throw new Error(`${profile} has no ProjectMembership. Delete it and run this again.`);
  }
  return membership;
}

/**
 * Changes the AccessPolicy of a Bot or client, if necessary.
 *
 * @param profile - reference to the Bot or ClientApplication
 * @param options - `isAdmin`: whether it administers the project; without it that stays as it is
 * @returns whether the membership was (or in a dry run would be) changed
 * @throws Error when the profile has no membership in the project
 */
export async function assignPolicy(
  connection: Connection,
  profile: string,
  policyId: string | undefined,
  { dryRun = false, isAdmin }: { readonly dryRun?: boolean; readonly isAdmin?: boolean } = {},
): Promise<boolean> {
  const membership = await requireMembership(connection, profile);
  const reference = policyId && `AccessPolicy/${policyId}`;
  const isSame = isAdmin === undefined || (membership.admin ?? false) === isAdmin;
  if (!reference || (membership.accessPolicy?.reference === reference && isSame)) {
    return false;
  }
  if (!dryRun) {
    const admin = isAdmin ?? membership.admin;
    await connection.medplum.updateResource<ProjectMembership>({
      ...membership,
      accessPolicy: { reference },
      ...(!isSame && { admin }),
    });
  }
  return true;
}
