import type { Subscription } from '@medplum/fhirtypes';
import { type BookingService, isRefusal, type Refusal, resourcesIn } from '../fhir/client.ts';
import { HEARTBEAT } from './hearing.ts';

/** Where the clinic's service sends the portal's notifications, and what it authenticates itself with. */
export interface SubscriptionOptions {
  readonly endpoint: string;
  /** The address of the topic. */
  readonly topic: string;
  /** Sent as bearer token with each notification. Nobody can read it at the service. */
  readonly secret: string;
}

const BACKPORT = 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition';

/** The portal's Subscription: ids of the appointments that change, and no more. */
function subscriptionFor({ endpoint, topic, secret }: SubscriptionOptions): Subscription {
  return {
    resourceType: 'Subscription',
    status: 'requested',
    reason: 'Shows patients what becomes of their appointments',
    criteria: topic,
    channel: {
      type: 'rest-hook',
      endpoint,
      header: [`Authorization: Bearer ${secret}`],
      payload: 'application/fhir+json',
      _payload: { extension: [{ url: `${BACKPORT}/backport-payload-content`, valueCode: 'id-only' }] },
      extension: [{ url: `${BACKPORT}/backport-heartbeat-period`, valueUnsignedInt: HEARTBEAT }],
    },
  } as Subscription;
}

/**
 * Makes the portal's Subscription, or requests the existing one again: then the service tries the address again with a
 * handshake. The portal keeps nothing, and finds its Subscription by the address.
 */
export async function subscribe(
  service: BookingService,
  options: SubscriptionOptions,
): Promise<Subscription | Refusal> {
  const { endpoint, topic } = options;
  const wanted = subscriptionFor(options);
  const found = await service.search('Subscription', { url: endpoint, criteria: topic });
  if (isRefusal(found)) {
    return found;
  }
  const own = resourcesIn(found, 'Subscription').find(
    ({ channel, criteria, status }) => channel?.endpoint === endpoint && criteria === topic && status !== 'off',
  );
  return service.subscribe({ ...wanted, ...(own?.id && { id: own.id }) });
}
