import type { Subscription } from '@medplum/fhirtypes';
import { type BookingService, isRefusal, type Refusal, resourcesIn } from '../fhir/client.ts';
import { type Changes, createChanges } from './changes.ts';
import { notificationIn } from './notification.ts';
import { createSubscriptionWatch, HEARTBEAT, type SubscriptionWatch } from './subscription-watch.ts';

/** Where the clinic's service sends the portal's notifications, and what it authenticates itself with. */
interface SubscriptionOptions {
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
async function subscribe(service: BookingService, options: SubscriptionOptions): Promise<Subscription | Refusal> {
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

/** What the portal hears of changes at the clinic. */
export interface PortalUpdates extends Pick<Changes, 'note' | 'hasChanged'>, Pick<SubscriptionWatch, 'isComplete'> {
  /** Takes a notification; `false` if it is none. */
  readonly take: (body: unknown) => boolean;
  /** Sees to it that notifications come. Called whenever a page waits for news; does not wait itself. */
  readonly keepComing: () => void;
}

/** The least time before the portal tries to subscribe again, in milliseconds. */
const RETRY = 300_000;

/**
 * The portal as a subscriber of the clinic's service: it subscribes when a page waits for news for the first time, and again
 * when notifications stay away.
 *
 * @param warn - called with the reason why there are none
 */
export function createUpdates(
  service: BookingService,
  options: SubscriptionOptions,
  now: () => number,
  warn: (problem: string) => void,
): PortalUpdates {
  const changes = createChanges(now);
  const hearing = createSubscriptionWatch(changes, now);
  let triedAt = Number.NEGATIVE_INFINITY;
  async function tryToSubscribe(): Promise<void> {
    const answer = await subscribe(service, options);
    if (isRefusal(answer)) {
      const codes = answer.problems.flatMap(({ code }) => code ?? []).join(', ');
      warn(
        `The booking service sends no notifications to ${options.endpoint} (status ${answer.status}${codes && `, ${codes}`}): ` +
          'open pages ask it themselves, at most every 30 seconds. Set an address that it can reach and may send to.',
      );
    }
  }
  return {
    note: changes.note,
    hasChanged: changes.hasChanged,
    isComplete: hearing.isComplete,
    take(body) {
      const notification = notificationIn(body);
      if (notification) {
        hearing.take(notification);
      }
      return notification !== undefined;
    },
    keepComing() {
      if (!hearing.isHeard() && now() - triedAt > RETRY) {
        triedAt = now();
        tryToSubscribe().catch((error: unknown) => warn(String(error)));
      }
    },
  };
}
