import { randomBytes } from 'node:crypto';
import { createReference, type WithId } from '@medplum/core';
import type { ClientApplication, Project } from '@medplum/fhirtypes';
import { fixedTokens } from './auth/sessions.ts';
import type { SandboxRepository } from './repository/repository.ts';
import { addMember } from './services.ts';

interface Seed {
  readonly project: WithId<Project>;
  readonly administrator: WithId<ClientApplication>;
}

const administratorName = fixedTokens.admin ?? 'Administrator';

async function findSeed(repository: SandboxRepository): Promise<Seed | undefined> {
  const project = await repository.searchOne<Project>({ resourceType: 'Project' });
  const clients = await repository.searchResources<ClientApplication>({
    resourceType: 'ClientApplication',
    count: 1000,
  });
  const administrator = clients.find(({ name }) => name === administratorName);
  return project && administrator && { project, administrator };
}

/**
 * Creates the project with the features that the booking service needs, and its administrator. Existing ones are kept.
 * The sandbox itself creates nothing else.
 *
 * @param repository - of the server itself
 */
export async function seed(repository: SandboxRepository): Promise<Seed> {
  const known = await findSeed(repository);
  if (known) {
    return known;
  }
  return repository.withTransaction(async (transaction) => {
    const project = await transaction.createResource<Project>({
      resourceType: 'Project',
      name: 'Sandbox',
      strictMode: true,
      features: ['bots', 'transaction-bundles', 'cron', 'websocket-subscriptions', 'email'],
      setting: [{ name: 'preCommitSubscriptionsEnabled', valueBoolean: true }],
    });
    const administrator = await transaction.createResource<ClientApplication>({
      resourceType: 'ClientApplication',
      meta: { project: project.id },
      name: administratorName,
      secret: randomBytes(32).toString('hex'),
    });
    const user = createReference(administrator);
    await addMember(transaction, project, { user, profile: user, admin: true });
    return { project, administrator };
  });
}
