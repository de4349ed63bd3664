import { randomBytes } from 'node:crypto';
import { isNotFound, OperationOutcomeError, type WithId } from '@medplum/core';
import type { ClientApplication, Parameters, ProjectMembership, Subscription } from '@medplum/fhirtypes';
import { ASSISTANT_TAG } from '../../core/booking/policy/caller-rights.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import type { Connection } from '../medplum/connect.ts';
import { type ClientCredentials, createClient, credentialsOf, requireMembership } from '../medplum/membership.ts';
import { type Member, memberNamed, policyOf, type Role, rightsOf } from './members.ts';

/**
 * Creates a client of the service, its membership and its rights.
 *
 * @param name - a name that no ClientApplication of the project has
 * @param of - for a consumer: id or name of the requestor whose appointments it reads
 * @throws Error when the name is taken, the requestor is unknown, or the service is not deployed
 */
export async function addClient(
  connection: Connection,
  name: string,
  of?: string,
  isAssistant = false,
): Promise<ClientCredentials> {
  const { medplum } = connection;
  const role: Role = of === undefined ? 'requestor' : 'consumer';
  const requestor = of === undefined ? undefined : await memberNamed(connection, of);
  if (requestor?.role === 'consumer') {
    throw new Error(`${requestor.client.name} is a consumer itself. Name a requestor.`);
  }
  const [policy, taken] = await Promise.all([
    policyOf(connection, role),
    medplum.searchOne('ClientApplication', { 'name:exact': name }),
  ]);
  if (taken) {
    throw new Error(
      `ClientApplication/${taken.id} is already named "${name}". Choose another name, or give it a new secret with ` +
        `npm run requestor -- rotate ${taken.id}.`,
    );
  }
  const client = await createClient(connection, {
    name,
    description: requestor ? `Appointment consumer of ${requestor.client.name}` : 'Appointment requestor',
    accessPolicy: { reference: policy },
  });
  if (requestor) {
    const {
      access: _,
      accessPolicy: __,
      ...rest
    } = await requireMembership(connection, `ClientApplication/${client.id}`);
    const rights = rightsOf(policy, `ClientApplication/${requestor.client.id}`);
    await medplum.updateResource<ProjectMembership>({ ...rest, ...rights });
  }
  if (isAssistant) {
    // Tagged before its secret is issued: the client was never used as anything else.
    const tag = [...(client.meta?.tag ?? []), { system: ASSISTANT_TAG, code: 'assistant' }];
    const marked = await medplum.updateResource({ ...client, meta: { ...client.meta, tag } });
    return credentialsOf(marked);
  }
  return credentialsOf(client);
}

/** Calls Medplum's `$rotate-secret`. Servers without it return 404. */
async function callRotate(
  { medplum }: Connection,
  id: string,
  parameter: Parameters['parameter'],
): Promise<WithId<ClientApplication> | undefined> {
  const url = medplum.fhirUrl('ClientApplication', id, '$rotate-secret');
  try {
    return await medplum.post<WithId<ClientApplication>>(url, { resourceType: 'Parameters', parameter });
  } catch (error) {
    if (error instanceof OperationOutcomeError && isNotFound(error.outcome)) {
      return undefined;
    }
    throw error;
  }
}

interface Rotation extends ClientCredentials {
  readonly isOldSecretValid: boolean;
}

/** Gives a client a new secret. If the server supports it, the old one works until {@link retireSecret} ends it. */
export async function rotateSecret(connection: Connection, client: WithId<ClientApplication>): Promise<Rotation> {
  const { id, secret } = credentialsOf(client);
  const rotated = await callRotate(connection, id, [{ name: 'secret', valueString: secret }]);
  const newSecret = () => randomBytes(32).toString('hex');
  const stored = rotated ?? (await connection.medplum.updateResource({ ...client, secret: newSecret() }));
  return { ...credentialsOf(stored), isOldSecretValid: rotated !== undefined };
}

/** Ends the previous secret of a client, if there is one. Returns a sentence about the result. */
export async function retireSecret(connection: Connection, client: WithId<ClientApplication>): Promise<string> {
  if (!client.retiringSecret) {
    return 'There is no old secret.';
  }
  await callRotate(connection, client.id, [{ name: 'retiringSecret', valueString: client.retiringSecret }]);
  return 'The old secret no longer works.';
}

/** A sentence about the validity of the previous secret. */
export const oldSecretText = ({ isOldSecretValid }: Rotation, finish: string): string =>
  isOldSecretValid ? `The old one works until you run: ${finish} --finish` : 'The old one no longer works.';

async function endSubscriptions({ medplum }: Connection, { client }: Member, config: BookingConfig): Promise<number> {
  const tag = `${artefactUri(config, 'LocalRequestor')}|${client.id}`;
  const found = await medplum.searchResources('Subscription', { _tag: tag, _count: 1000 });
  const open = found.filter(({ status }) => status !== 'off');
  for (const subscription of open) {
    await medplum.updateResource<Subscription>({ ...subscription, status: 'off' });
  }
  return open.length;
}

/**
 * Permanently ends a client's access: deletes it and its membership. Its bookings stay, and its Subscriptions are
 * switched off.
 *
 * @returns the removed client, and the number of Subscriptions that were switched off
 */
export async function removeClient(
  connection: Connection,
  idOrName: string,
  config: BookingConfig,
): Promise<{ readonly member: Member; readonly subscriptions: number }> {
  const member = await memberNamed(connection, idOrName);
  const { medplum } = connection;
  const subscriptions = await endSubscriptions(connection, member, config);
  if (!member.isDeleted) {
    await medplum.deleteResource('ClientApplication', member.client.id);
  }
  // The membership is deleted last: after an interruption, the next run finds the client by it.
  await medplum.deleteResource('ProjectMembership', member.membership.id);
  return { member, subscriptions };
}
