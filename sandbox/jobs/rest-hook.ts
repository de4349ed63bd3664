import { createHmac } from 'node:crypto';
import { ContentType, getExtension, getExtensionValue, isString, stringify } from '@medplum/core';
import type { Subscription } from '@medplum/fhirtypes';
import type { StoredResource } from '../storage/change.ts';
import type { Job } from './job.ts';

const secretUrls = [
  'https://www.medplum.com/fhir/StructureDefinition/subscription-secret',
  'https://www.medplum.com/fhir/StructureDefinition-subscriptionSecret',
];
const successUrl = 'https://medplum.com/fhir/StructureDefinition/subscription-success-codes';
const timeout = 120_000;

/** A header line is cut at its second colon: Medplum does so, and values like URLs lose their end. */
function ownHeaders(subscription: Subscription): Record<string, string> {
  const lines = subscription.channel.header ?? [];
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', value = ''] = line.split(':');
      return [name.trim(), value.trim()];
    }),
  );
}

/**
 * The headers with which a Subscription reports a change, to a Bot or to an address.
 *
 * @param body - what is sent, for the signature
 */
export function hookHeaders(
  subscription: Subscription,
  { interaction, jobId }: Job,
  resource: StoredResource,
  body: string,
): Record<string, string> {
  const secret = secretUrls.map((url) => getExtensionValue(subscription, url)).find((value) => isString(value));
  return {
    'Content-Type': ContentType.FHIR_JSON,
    'X-Medplum-Subscription': subscription.id ?? '',
    'X-Medplum-Interaction': interaction,
    ...(interaction === 'delete' && { 'X-Medplum-Deleted-Resource': `${resource.resourceType}/${resource.id}` }),
    ...ownHeaders(subscription),
    'x-trace-id': jobId,
    ...(secret && { 'X-Signature': createHmac('sha256', secret).update(body).digest('hex') }),
  };
}

function isSuccess(subscription: Subscription, status: number): boolean {
  const codes = getExtension(subscription, successUrl)?.valueString;
  if (!codes) {
    return status >= 200 && status < 400;
  }
  return codes.split(',').some((code) => {
    const [from, to = from] = code.trim().split('-').map(Number);
    return from !== undefined && to !== undefined && status >= from && status <= to;
  });
}

/**
 * Sends a change to the address of a Subscription: Medplum's own rest-hook, which posts the bare resource.
 *
 * @throws Error if the answer does not come, or is not one of the Subscription's success codes (default 200–399)
 */
export async function sendRestHook(subscription: Subscription, job: Job, resource: StoredResource): Promise<void> {
  const body = job.interaction === 'delete' ? '{}' : stringify(resource);
  const response = await fetch(subscription.channel.endpoint ?? '', {
    method: 'POST',
    headers: hookHeaders(subscription, job, resource, body),
    body,
    signal: AbortSignal.timeout(timeout),
  });
  await response.body?.cancel();
  if (!isSuccess(subscription, response.status)) {
    throw new Error(`Received status ${response.status}`);
  }
}
