import { parseSearchRequest, resourceMatchesSubscriptionCriteria } from '@medplum/core';
import type { Subscription } from '@medplum/fhirtypes';
import type { Platform } from '../platform.ts';
import { type Change, type StoredResource, subjectOf } from '../storage/change.ts';
import type { UnitOfWork } from '../storage/unit-of-work.ts';
import type { Job } from './job.ts';
import { activeSubscriptions, isPreCommit } from './pre-commit.ts';

function isAbout({ criteria }: Subscription, type: string): boolean {
  return Boolean(criteria) && parseSearchRequest(criteria).resourceType === type;
}

/** Whether a Subscription is to be notified of a change after it has been made. */
export async function isMatched(
  change: Change,
  resource: StoredResource,
  subscription: Subscription,
): Promise<boolean> {
  if (isPreCommit(subscription)) {
    return false;
  }
  try {
    return (
      isAbout(subscription, resource.resourceType) &&
      (await resourceMatchesSubscriptionCriteria({
        resource,
        subscription,
        context: { interaction: change.interaction },
        getPreviousResource: async () => change.previous?.resource,
      }))
    );
  } catch {
    // Medplum ignores a Subscription whose criteria cannot be evaluated.
    return false;
  }
}

/** The jobs of a commit: one for each active Subscription that matches a change when it is made. */
export async function jobsFor(
  platform: Pick<Platform, 'now' | 'newId'>,
  unit: Pick<UnitOfWork, 'newest'>,
  changes: readonly Change[],
): Promise<Job[]> {
  const jobs: Job[] = [];
  const requestTime = platform.now().toISOString();
  for (const change of changes) {
    const resource = subjectOf(change);
    const project = resource?.meta?.project;
    if (!resource || !project || change.isAnnounced || resource.resourceType === 'AuditEvent') {
      continue;
    }
    for (const subscription of activeSubscriptions(unit, project)) {
      if (subscription.channel.type === 'rest-hook' && (await isMatched(change, resource, subscription))) {
        jobs.push({
          jobId: platform.newId(),
          subscriptionId: subscription.id,
          resourceType: resource.resourceType,
          id: resource.id,
          versionId: resource.meta?.versionId ?? '',
          interaction: change.interaction,
          requestTime,
          attemptsMade: 0,
          notBefore: 0,
        });
      }
    }
  }
  return jobs;
}
