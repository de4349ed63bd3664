import type { AccessPolicy, ProjectMembership, Reference } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../core/config/config.ts';
import { type Artefacts, buildArtefacts } from '../../profiles/artefacts.ts';
import { type Connection, type Credentials, connect } from '../medplum/connect.ts';
import { searchAll } from '../medplum/project.ts';
import { type Counts, startReport } from '../medplum/report.ts';
import { endAccess, findGatewayClient, GATEWAY_CLIENT } from './gateway-client.ts';
import { findDeployed, remove } from './removal.ts';

/** Options of an uninstallation. A dry run reports the changes without making them. */
export interface UninstallOptions extends Credentials {
  readonly config: BookingConfig;
  readonly dryRun?: boolean;
  readonly log: (line: string) => void;
}

const policiesOf = ({ accessPolicy, access = [] }: ProjectMembership): (Reference<AccessPolicy> | undefined)[] => [
  accessPolicy,
  ...access.map(({ policy }) => policy),
];

/**
 * The policies of the service that no member has.
 *
 * @param going - references to the profiles whose memberships will be removed
 */
async function unusedPolicies({ medplum }: Connection, { accessPolicies }: Artefacts, going: readonly string[]) {
  const gone = new Set(going);
  const used = new Set<string | undefined>();
  for (const membership of await searchAll(medplum, 'ProjectMembership')) {
    if (!gone.has(membership.profile.reference ?? '')) {
      policiesOf(membership).forEach((policy) => void used.add(policy?.reference));
    }
  }
  const found = await Promise.all(
    Object.values(accessPolicies).map(({ name = '' }) =>
      medplum.searchResources('AccessPolicy', { 'name:exact': name }),
    ),
  );
  return found.flat().filter(({ id }) => !used.has(`AccessPolicy/${id}`));
}

/**
 * Removes the service from a project: Subscriptions that start Bots, operations, Bots with their memberships, and
 * unused AccessPolicies of the service. Profiles, code systems and naming systems stay, because stored data refers to
 * them. Data of the clinic and of requestors stays, too. A second run finds nothing left.
 *
 * @throws Error that says what to do when the server cannot be reached or refuses the credentials or a deletion
 */
export async function uninstall({ config, dryRun = false, log, ...credentials }: UninstallOptions): Promise<Counts> {
  const connection = await connect(credentials);
  const report = startReport(log, dryRun);
  const artefacts = buildArtefacts(config);
  const urls = artefacts.operationDefinitions.map(({ url }) => url ?? '');
  const deployed = await findDeployed(connection, config, urls);
  const client = await findGatewayClient(connection);
  const going = [...deployed.bots.map(({ id }) => `Bot/${id}`), ...(client ? [`ClientApplication/${client.id}`] : [])];
  const policies = await unusedPolicies(connection, artefacts, going);
  await remove(connection, deployed, config, report, dryRun);
  if (client && (await endAccess(connection, client.id, dryRun))) {
    report.note('removed', `access of ClientApplication ${GATEWAY_CLIENT}`);
  }
  for (const { id, name } of policies) {
    if (!dryRun) {
      await connection.medplum.deleteResource('AccessPolicy', id);
    }
    report.note('removed', `AccessPolicy ${name}`);
  }
  return report.counts();
}
