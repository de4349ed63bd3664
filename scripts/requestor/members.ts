import { resolveId, type WithId } from '@medplum/core';
import type { ClientApplication, ProjectMembership } from '@medplum/fhirtypes';
import { type PolicyName, policyTitle } from '../../profiles/access-policies.ts';
import type { Connection } from '../medplum/connect.ts';
import { searchAll } from '../medplum/project.ts';

/** Role of a client: a requestor books, a consumer follows the bookings of a requestor. */
export type Role = Extract<PolicyName, 'requestor' | 'consumer'>;

/** A client of the service with its membership. */
export interface Member {
  readonly role: Role;
  /** If the client was deleted in Medplum without its membership, only the id is known. */
  readonly client: WithId<ClientApplication>;
  readonly isDeleted: boolean;
  readonly membership: WithId<ProjectMembership>;
  /** For a consumer: reference to the ClientApplication whose appointments it reads. */
  readonly consumerOf?: string | undefined;
}

/** Name of the access parameter in a consumer's membership that names the requestor. */
const PARAMETER = 'requestor';

/**
 * The policy of a role.
 *
 * @returns reference to the AccessPolicy
 * @throws Error when the service is not deployed
 */
export async function policyOf({ medplum }: Connection, role: Role): Promise<string> {
  const policy = await medplum.searchOne('AccessPolicy', { 'name:exact': policyTitle(role) });
  if (!policy) {
    throw new Error(`The project has no AccessPolicy "${policyTitle(role)}". Run npm run deploy first.`);
  }
  return `AccessPolicy/${policy.id}`;
}

/** The rights in a membership: an AccessPolicy, for a consumer with its parameter. */
export function rightsOf(
  policy: string,
  consumerOf: string | undefined,
): Pick<ProjectMembership, 'access' | 'accessPolicy'> {
  return consumerOf
    ? {
        accessPolicy: undefined,
        access: [
          {
            policy: { reference: policy },
            parameter: [{ name: PARAMETER, valueReference: { reference: consumerOf } }],
          },
        ],
      }
    : { accessPolicy: { reference: policy }, access: undefined };
}

function roleOf(membership: ProjectMembership, policies: Readonly<Record<Role, string>>): Role | undefined {
  const held = [membership.accessPolicy, ...(membership.access ?? []).map(({ policy }) => policy)];
  return (['requestor', 'consumer'] as const).find((role) =>
    held.some((policy) => policy?.reference === policies[role]),
  );
}

function consumerOf({ access = [] }: ProjectMembership): string | undefined {
  const parameters = access.flatMap(({ parameter = [] }) => parameter);
  return parameters.find(({ name }) => name === PARAMETER)?.valueReference?.reference;
}

/** All clients with a policy of the service, ordered by name. */
export async function members(connection: Connection): Promise<Member[]> {
  const [requestor, consumer, memberships] = await Promise.all([
    policyOf(connection, 'requestor'),
    policyOf(connection, 'consumer'),
    searchAll(
      connection.medplum,
      'ProjectMembership',
      {},
      ({ profile }) => profile?.reference?.startsWith('ClientApplication/') === true,
    ),
  ]);
  const found = await Promise.all(
    memberships.map(async (membership): Promise<Member[]> => {
      const role = roleOf(membership, { requestor, consumer });
      if (!role) {
        return [];
      }
      const id = resolveId(membership.profile) ?? '';
      const found = await connection.medplum.searchOne('ClientApplication', { _id: id }, { cache: 'reload' });
      const client = found ?? { resourceType: 'ClientApplication', id, name: '(deleted)' };
      return [{ role, client, isDeleted: !found, membership, consumerOf: consumerOf(membership) }];
    }),
  );
  return found.flat().toSorted((member, other) => (member.client.name ?? '').localeCompare(other.client.name ?? ''));
}

/**
 * The client of the service with this id or name.
 *
 * @throws Error when there is none, or several have the name
 */
export async function memberNamed(connection: Connection, idOrName: string): Promise<Member> {
  const all = await members(connection);
  const found = all.filter(({ client }) => client.id === idOrName || client.name === idOrName);
  const [member, ...others] = found;
  if (!member) {
    const names = all.map(({ client }) => client.name).join(', ') || 'none';
    throw new Error(`There is no requestor or consumer "${idOrName}". There are: ${names}.`);
  }
  if (others.length > 0) {
    throw new Error(`${found.length} clients are named "${idOrName}". Use its id.`);
  }
  return member;
}
