import { createReference } from '@medplum/core';
import type { Bundle, SubscriptionStatus } from '@medplum/fhirtypes';
import type { Platform } from '../platform.ts';
import type { StoredResource } from '../storage/change.ts';

/** The source of the ids, times and addresses of Bundles. */
type BundleSource = Pick<Platform, 'now' | 'newId' | 'baseUrl'>;

type Entry = NonNullable<Bundle['entry']>[number];

function bundle({ now, newId }: BundleSource, entry: Entry[]): Bundle {
  return { id: newId(), resourceType: 'Bundle', type: 'history', timestamp: now().toISOString(), entry };
}

function statusOf(
  { newId }: BundleSource,
  type: SubscriptionStatus['type'],
  subscriptionId: string,
): SubscriptionStatus {
  return {
    resourceType: 'SubscriptionStatus',
    id: newId(),
    status: 'active',
    type,
    subscription: { reference: `Subscription/${subscriptionId}` },
  };
}

/** Tells a websocket that it is bound to a Subscription. */
export function handshakeBundle(source: BundleSource, subscriptionId: string): Bundle {
  return bundle(source, [{ resource: statusOf(source, 'handshake', subscriptionId) }]);
}

/** Tells a websocket that its Subscriptions still exist. */
export function heartbeatBundle(source: BundleSource, subscriptionIds: Iterable<string>): Bundle {
  return bundle(
    source,
    [...subscriptionIds].map((id) => ({ resource: statusOf(source, 'heartbeat', id) })),
  );
}

/**
 * Tells a websocket of a change. As in Medplum, events are not counted, and nothing says whether the resource was
 * created, updated or deleted.
 *
 * @param resource - sent unchanged
 */
export function eventBundle(source: BundleSource, subscriptionId: string, resource: StoredResource): Bundle {
  const timestamp = source.now().toISOString();
  const notificationEvent = [{ eventNumber: '0', timestamp, focus: createReference(resource) }];
  const fullUrl = `${source.baseUrl()}fhir/R4/${resource.resourceType}/${resource.id}`;
  return bundle(source, [
    { resource: { ...statusOf(source, 'event-notification', subscriptionId), notificationEvent } },
    { resource, fullUrl },
  ]);
}
