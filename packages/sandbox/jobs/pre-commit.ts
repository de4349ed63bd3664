import {
  ContentType,
  createReference,
  getExtension,
  normalizeOperationOutcome,
  OperationOutcomeError,
  resourceMatchesSubscriptionCriteria,
  type WithId,
} from '@medplum/core';
import type { Bot, Subscription } from '@medplum/fhirtypes';
import { findMembership } from '../access/membership.ts';
import type { RepositoryContext } from '../repository/context.ts';
import type { StoredResource } from '../storage/change.ts';
import { resourceOf, resourcesOf, type UnitOfWork } from '../storage/unit-of-work.ts';

const preCommitUrl = 'https://medplum.com/fhir/StructureDefinition/pre-commit-bot';

/** Whether a Subscription names a Bot that is called before a write instead of after it. */
export function isPreCommit(subscription: Subscription): boolean {
  return getExtension(subscription, preCommitUrl)?.valueBoolean === true;
}

export const activeSubscriptions = (unit: Pick<UnitOfWork, 'newest'>, project: string): WithId<Subscription>[] =>
  resourcesOf(unit, 'Subscription').filter(({ status, meta }) => status === 'active' && meta?.project === project);

async function applies(subscription: Subscription, resource: StoredResource, interaction: 'update' | 'delete') {
  return (
    isPreCommit(subscription) &&
    (await resourceMatchesSubscriptionCriteria({
      resource,
      subscription,
      context: { interaction },
      getPreviousResource: async () => undefined,
    }))
  );
}

function botOf(unit: UnitOfWork, { channel: { endpoint } }: Subscription): WithId<Bot> | undefined {
  return endpoint?.startsWith('Bot/') ? resourceOf(unit, 'Bot', endpoint.slice(4)) : undefined;
}

/**
 * Calls the first pre-commit Bot whose Subscription matches a pending write. As in Medplum, a creation counts as an
 * update, and the server's own writes call no Bot.
 *
 * @returns the Bot's result; `undefined` if no Bot was called
 * @throws OperationOutcomeError with the Bot's own outcome if it refuses or fails
 */
export async function runPreCommit(
  { platform, caller, unit }: RepositoryContext,
  resource: StoredResource,
  interaction: 'update' | 'delete',
): Promise<unknown> {
  const { project } = caller;
  if (!project?.setting?.find(({ name }) => name === 'preCommitSubscriptionsEnabled')?.valueBoolean) {
    return undefined;
  }
  const input: StoredResource = { ...resource, meta: { ...resource.meta, author: caller.author } };
  for (const subscription of activeSubscriptions(unit, project.id)) {
    const bot = (await applies(subscription, input, interaction)) ? botOf(unit, subscription) : undefined;
    const runAs = bot && findMembership(unit, createReference(bot));
    if (!bot || !runAs) {
      continue;
    }
    const result = await platform.executeBot({
      subscription,
      bot,
      runAs,
      input,
      contentType: ContentType.FHIR_JSON,
      headers: interaction === 'delete' ? { 'X-Medplum-Deleted-Resource': `${input.resourceType}/${input.id}` } : {},
    });
    if (!result.success) {
      throw new OperationOutcomeError(normalizeOperationOutcome(result.returnValue));
    }
    return result.returnValue;
  }
  return undefined;
}
