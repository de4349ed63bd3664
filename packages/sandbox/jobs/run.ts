import { ContentType, getExtension, resolveId, stringify } from '@medplum/core';
import type { Subscription } from '@medplum/fhirtypes';
import { findMembership } from '../access/membership.ts';
import type { Platform } from '../platform.ts';
import type { StoredResource } from '../storage/change.ts';
import { resourceOf, type UnitOfWork } from '../storage/unit-of-work.ts';
import type { Job } from './job.ts';

/** The result of one run of a job: finished, or to be tried again. */
export type RunResult = 'over' | { readonly retry: string };

const attemptsUrl = 'https://medplum.com/fhir/StructureDefinition/subscription-max-attempts';
const defaultAttempts = 4;
/** The queue's own limit. A Subscription cannot raise it. */
const mostAttempts = 19;

type Reader = Pick<UnitOfWork, 'find' | 'cached' | 'versions' | 'newest'>;

const timeout = 120_000;

/** A header line is cut off at its second colon, as in Medplum: values such as URLs lose their end. */
function ownHeaders(subscription: Subscription): Record<string, string> {
  const lines = subscription.channel.header ?? [];
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', value = ''] = line.split(':');
      return [name.trim(), value.trim()];
    }),
  );
}

function hookHeaders(
  subscription: Subscription,
  { interaction, jobId }: Job,
  resource: StoredResource,
): Record<string, string> {
  return {
    'Content-Type': ContentType.FHIR_JSON,
    'X-Medplum-Subscription': subscription.id ?? '',
    'X-Medplum-Interaction': interaction,
    ...(interaction === 'delete' && { 'X-Medplum-Deleted-Resource': `${resource.resourceType}/${resource.id}` }),
    ...ownHeaders(subscription),
    'x-trace-id': jobId,
  };
}

/**
 * Medplum's own rest-hook: posts the bare resource to the endpoint of a Subscription.
 *
 * @throws Error if there is no response, or its status is 400 or above
 */
async function sendRestHook(subscription: Subscription, job: Job, resource: StoredResource): Promise<void> {
  const body = job.interaction === 'delete' ? '{}' : stringify(resource);
  const response = await fetch(subscription.channel.endpoint ?? '', {
    method: 'POST',
    headers: hookHeaders(subscription, job, resource),
    body,
    signal: AbortSignal.timeout(timeout),
  });
  await response.body?.cancel();
  if (response.status >= 400) {
    throw new Error(`Received status ${response.status}`);
  }
}

async function callBot(
  platform: Platform,
  unit: Reader,
  subscription: Subscription,
  job: Job,
  resource: StoredResource,
) {
  const id = resolveId({ reference: subscription.channel.endpoint }) ?? '';
  const bot = resourceOf(unit, 'Bot', id);
  if (!bot) {
    throw new Error('Not found');
  }
  const requester = resource.meta?.author;
  const runAs = findMembership(unit, bot.runAsUser && requester ? requester : { reference: `Bot/${id}` });
  if (!runAs) {
    throw new Error('Could not find project membership for bot');
  }
  const input = job.interaction === 'delete' ? { deletedResource: resource } : resource;
  const headers = hookHeaders(subscription, job, resource);
  // The Bot's result is ignored: as in Medplum 5.1, a Bot that throws is not run again.
  await platform.executeBot({
    subscription,
    bot,
    runAs,
    requester,
    input,
    contentType: ContentType.FHIR_JSON,
    headers,
    traceId: job.jobId,
  });
}

/** The Subscription and resource of a job; `undefined` if Medplum would drop the job by now. */
function stillDue(unit: Reader, job: Job): { subscription: Subscription; resource: StoredResource } | undefined {
  const id = job.subscriptionId;
  const subscription = (unit.cached('Subscription', id) ?? unit.find('Subscription', id))?.resource;
  if (subscription?.resourceType !== 'Subscription' || subscription.status !== 'active') {
    return undefined;
  }
  if (subscription.channel.type !== 'rest-hook') {
    return undefined;
  }
  const current = unit.find(job.resourceType, job.id);
  const isOutdated = job.attemptsMade > 0 && current?.versionId !== job.versionId;
  if (job.interaction !== 'delete' && (!current?.resource || isOutdated)) {
    return undefined;
  }
  const resource = unit
    .versions(job.resourceType, job.id)
    .find(({ versionId }) => versionId === job.versionId)?.resource;
  return resource && { subscription, resource };
}

/**
 * Runs a job once, with Medplum's rules. It does nothing if the Subscription is gone or inactive, or the resource is
 * gone. A retry also does nothing if the resource has a newer version.
 *
 * @param unit - reads Subscription, Bot and resource, bypassing all rules
 */
export async function runJob(platform: Platform, unit: Reader, job: Job): Promise<RunResult> {
  const due = stillDue(unit, job);
  if (!due) {
    return 'over';
  }
  const { subscription, resource } = due;
  try {
    if (subscription.channel.endpoint?.startsWith('Bot/')) {
      await callBot(platform, unit, subscription, job, resource);
    } else {
      await sendRestHook(subscription, job, resource);
    }
    return 'over';
  } catch (error) {
    const most = getExtension(subscription, attemptsUrl)?.valueInteger ?? defaultAttempts;
    const isLast = job.attemptsMade >= Math.min(most, mostAttempts - 1);
    return isLast ? 'over' : { retry: error instanceof Error ? error.message : String(error) };
  }
}
