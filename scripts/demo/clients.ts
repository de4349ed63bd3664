import type { WithId } from '@medplum/core';
import type { ClientApplication } from '@medplum/fhirtypes';
import type { CredentialKeys } from '../../gateway/sealing/credential-keys.ts';
import type { PolicyName } from '../../profiles/access-policies.ts';
import type { Deployment } from '../deploy.ts';
import { assignPolicy } from '../medplum/membership.ts';
import type { Report } from '../medplum/report.ts';
import { sealCredentials } from '../requestor/sealing.ts';

/** Client credentials of one of the demo clients. */
export interface DemoClient {
  readonly name: string;
  readonly id: string;
  readonly secret: string;
}

const clients = {
  'Portal A': 'requestor',
  'Portal B': 'requestor',
  'Front desk': 'front-desk',
} as const satisfies Record<string, PolicyName>;

/** Names of the demo clients. */
export type DemoClientName = keyof typeof clients;

async function createClient(
  { connection, policies }: Deployment,
  name: DemoClientName,
): Promise<WithId<ClientApplication>> {
  return connection.medplum.post(`admin/projects/${connection.projectId}/client`, {
    name,
    description: 'Demo data of the appointment booking service',
    accessPolicy: { reference: `AccessPolicy/${policies[clients[name]]}` },
  });
}

async function ensureClient(
  deployment: Deployment,
  name: DemoClientName,
  report: Report,
  keys: CredentialKeys | undefined,
): Promise<DemoClient> {
  const { connection, policies } = deployment;
  const found = await connection.medplum.searchOne('ClientApplication', { 'name:exact': name });
  const { id, secret } = found ?? (await createClient(deployment, name));
  if (!secret) {
    throw new Error(`ClientApplication/${id} (${name}) has no secret. Delete it and run the demo again.`);
  }
  const isUpdated = found && (await assignPolicy(connection, `ClientApplication/${id}`, policies[clients[name]]));
  report.note(found ? (isUpdated ? 'updated' : 'unchanged') : 'created', `ClientApplication ${name}`);
  const isPortal = clients[name] === 'requestor';
  const handedOut = keys && isPortal ? await sealCredentials(connection, { id, secret }, keys) : { id, secret };
  return { name, ...handedOut };
}

/**
 * Makes the demo clients: two portals, each a requestor, and the clinic's front desk.
 *
 * @param keys - seal the secrets of the portals; by default the portals get Medplum's own secrets
 */
export async function ensureClients(
  deployment: Deployment,
  report: Report,
  keys?: CredentialKeys,
): Promise<Record<DemoClientName, DemoClient>> {
  const [portalA, portalB, frontDesk] = await Promise.all([
    ensureClient(deployment, 'Portal A', report, keys),
    ensureClient(deployment, 'Portal B', report, keys),
    ensureClient(deployment, 'Front desk', report, keys),
  ]);
  return { 'Portal A': portalA, 'Portal B': portalB, 'Front desk': frontDesk };
}
