import type { CredentialKeys } from '../../gateway/sealing/credential-keys.ts';
import type { PolicyName } from '../../profiles/access-policies.ts';
import type { Deployment } from '../deploy.ts';
import { assignPolicy, type ClientCredentials, createClient, credentialsOf } from '../medplum/membership.ts';
import type { Report } from '../medplum/report.ts';
import { sealCredentials } from '../requestor/sealing.ts';

/** Credentials of a demo client. */
export interface DemoClient extends ClientCredentials {
  readonly name: string;
}

const clients = {
  'Portal A': 'requestor',
  'Portal B': 'requestor',
  'Front desk': 'front-desk',
} as const satisfies Record<string, PolicyName>;

/** Names of the demo clients. */
export type DemoClientName = keyof typeof clients;

async function ensureClient(
  deployment: Deployment,
  name: DemoClientName,
  report: Report,
  keys: CredentialKeys,
): Promise<DemoClient> {
  const { connection, policies } = deployment;
  const found = await connection.medplum.searchOne('ClientApplication', { 'name:exact': name });
  const policyId = policies[clients[name]];
  const description = 'Demo data of the appointment booking service';
  const accessPolicy = { reference: `AccessPolicy/${policyId}` };
  const own = credentialsOf(found ?? (await createClient(connection, { name, description, accessPolicy })));
  const isUpdated = found && (await assignPolicy(connection, `ClientApplication/${found.id}`, policyId));
  report.note(found ? (isUpdated ? 'updated' : 'unchanged') : 'created', `ClientApplication ${name}`);
  const isPortal = clients[name] === 'requestor';
  const handedOut = isPortal ? await sealCredentials(connection, own, keys) : own;
  return { name, ...handedOut };
}

/**
 * Creates the demo clients: two portals, each a requestor, and the clinic's front desk.
 *
 * @param keys - seal the secrets of the portals
 */
export async function ensureClients(
  deployment: Deployment,
  report: Report,
  keys: CredentialKeys,
): Promise<Record<DemoClientName, DemoClient>> {
  const [portalA, portalB, frontDesk] = await Promise.all([
    ensureClient(deployment, 'Portal A', report, keys),
    ensureClient(deployment, 'Portal B', report, keys),
    ensureClient(deployment, 'Front desk', report, keys),
  ]);
  return { 'Portal A': portalA, 'Portal B': portalB, 'Front desk': frontDesk };
}
