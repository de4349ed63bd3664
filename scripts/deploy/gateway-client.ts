import type { WithId } from '@medplum/core';
import type { ClientApplication, ProjectMembership } from '@medplum/fhirtypes';
import type { BotRuntimeName } from '../../core/config/config.ts';
import type { Connection } from '../medplum/connect.ts';
import { assignPolicy, createClient, membershipOf } from '../medplum/membership.ts';
import type { Report } from '../medplum/report.ts';

export const GATEWAY_CLIENT = 'Appointment booking: gateway';

const description =
  'With this client the gateway writes bookings where it runs the Bots itself. What it has written counts as written by the service: do not delete it.';

interface GatewayClientPlan {
  readonly connection: Connection;
  /** Runtime of the Bots: the client is created if it is the gateway. */
  readonly bots: BotRuntimeName;
  /** Id of the AccessPolicy of the Bots; `undefined` in a dry run before it exists. */
  readonly policyId: string | undefined;
  readonly report: Report;
  readonly dryRun: boolean;
}

/**
 * The client with which the gateway writes, if the project has one.
 *
 * @throws Error when several have its name: the service cannot tell which one is the gateway's
 */
export async function findGatewayClient({ medplum }: Connection): Promise<WithId<ClientApplication> | undefined> {
  const [client, ...others] = await medplum.searchResources('ClientApplication', { 'name:exact': GATEWAY_CLIENT });
  if (others.length > 0) {
    throw new Error(`${others.length + 1} ClientApplications are named "${GATEWAY_CLIENT}". Rename all but one.`);
  }
  return client;
}

async function readmit({ medplum, projectId }: Connection, client: ClientApplication, policyId: string): Promise<void> {
  const reference = { reference: `ClientApplication/${client.id}`, display: GATEWAY_CLIENT };
  await medplum.createResource<ProjectMembership>({
    resourceType: 'ProjectMembership',
    project: { reference: `Project/${projectId}` },
    user: reference,
    profile: reference,
    accessPolicy: { reference: `AccessPolicy/${policyId}` },
  });
}

/** Corrects the rights of the client: those of the Bots, or none if Medplum runs them. */
async function correctRights(plan: GatewayClientPlan, client: WithId<ClientApplication>): Promise<boolean> {
  const { connection, bots, policyId, dryRun } = plan;
  if (bots === 'medplum') {
    return endAccess(connection, client.id, dryRun);
  }
  if (await membershipOf(connection, `ClientApplication/${client.id}`)) {
    return assignPolicy(connection, `ClientApplication/${client.id}`, policyId, { dryRun });
  }
  if (!dryRun && policyId) {
    await readmit(connection, client, policyId);
  }
  return true;
}

/**
 * Ends the rights of the gateway's client. The client itself stays: stored slots name it as their author.
 *
 * @returns whether it had any rights
 */
export async function endAccess(connection: Connection, clientId: string, dryRun: boolean): Promise<boolean> {
  const membership = await membershipOf(connection, `ClientApplication/${clientId}`);
  if (membership && !dryRun) {
    await connection.medplum.deleteResource('ProjectMembership', membership.id);
  }
  return membership !== undefined;
}

/**
 * Creates the client of a gateway that runs Bots itself, with the rights of the Bots. If Medplum runs the Bots, its
 * rights end. The client itself stays, because stored slots name it as their author.
 *
 * @returns id of the client; `undefined` if there is none
 */
export async function deployGatewayClient(plan: GatewayClientPlan): Promise<string | undefined> {
  const { connection, bots, report, dryRun } = plan;
  const label = `ClientApplication ${GATEWAY_CLIENT}`;
  const found = await findGatewayClient(connection);
  if (found) {
    report.note((await correctRights(plan, found)) ? 'updated' : 'unchanged', label);
    return found.id;
  }
  if (bots === 'medplum') {
    return undefined;
  }
  report.note('created', label);
  const accessPolicy = { reference: `AccessPolicy/${plan.policyId}` };
  return dryRun ? undefined : (await createClient(connection, { name: GATEWAY_CLIENT, description, accessPolicy })).id;
}
