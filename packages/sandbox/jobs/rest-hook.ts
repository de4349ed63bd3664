import { ContentType, stringify } from '@medplum/core';
import type { Subscription } from '@medplum/fhirtypes';
import type { StoredResource } from '../storage/change.ts';
import type { Job } from './job.ts';

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

/** The headers with which a Subscription reports a change, to a Bot or to an address. */
export function hookHeaders(
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
 * Sends a change to the address of a Subscription: Medplum's own rest-hook, which posts the bare resource.
 *
 * @throws Error if there is no answer, or its status is 400 or above
 */
export async function sendRestHook(subscription: Subscription, job: Job, resource: StoredResource): Promise<void> {
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
