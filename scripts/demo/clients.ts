import type { WithId } from '@medplum/core';
import type { ClientApplication } from '@medplum/fhirtypes';
import type { PolicyName } from '../../profiles/access-policies.ts';
import type { Deployment } from '../deploy.ts';
import { assignPolicy } from '../medplum/membership.ts';
import type { Report } from '../medplum/report.ts';

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

async function ensureClient(deployment: Deployment, name: DemoClientName, report: Report): Promise<DemoClient> {
  const { connection, policies } = deployment;
  const found = await connection.medplum.searchOne('ClientApplication', { 'name:exact': name });
  const { id, secret } = found ?? (await createClient(deployment, name));
  if (!secret) {
    throw new Error(`ClientApplication/${id} (${name}) has no secret. Delete it and run the demo again.`);
  }
  const isUpdated = found && (await assignPolicy(connection, `ClientApplication/${id}`, policies[clients[name]]));
  report.note(found ? (isUpdated ? 'updated' : 'unchanged') : 'created', `ClientApplication ${name}`);
  return { name, id, secret };
}

/** Makes the demo clients: two portals, each a requestor, and the clinic's front desk. */
export async function ensureClients(
  deployment: Deployment,
  report: Report,
): Promise<Record<DemoClientName, DemoClient>> {
  const [portalA, portalB, frontDesk] = await Promise.all([
    ensureClient(deployment, 'Portal A', report),
    ensureClient(deployment, 'Portal B', report),
    ensureClient(deployment, 'Front desk', report),
  ]);
  return { 'Portal A': portalA, 'Portal B': portalB, 'Front desk': frontDesk };
}
