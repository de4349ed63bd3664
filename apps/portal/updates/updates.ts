import type { Subscription } from '@medplum/fhirtypes';
import { type BookingService, isRefusal, type Refusal, resourcesIn } from '../fhir/client.ts';
import { type Changes, createChanges } from './changes.ts';
import { notificationIn } from './notification.ts';
import { createSubscriptionWatch, HEARTBEAT, type SubscriptionWatch } from './subscription-watch.ts';

interface SubscriptionOptions {
  readonly endpoint: string;
  readonly topic: string;
  /** Bearer token of each notification. The service never returns it. */
  readonly secret: string;
}

const BACKPORT = 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition';

/** The portal's Subscription; its notifications contain only ids. */
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

/** Creates or renews the Subscription, found by its endpoint; the service then sends a handshake. */
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

/** The portal's knowledge of changes at the clinic. */
export interface PortalUpdates extends Pick<Changes, 'note' | 'hasChanged'>, Pick<SubscriptionWatch, 'isComplete'> {
  /** Receives a notification; returns `false` if the body is not one. */
  readonly take: (body: unknown) => boolean;
  /** Subscribes if no notifications arrive. Called for each page that waits for updates; does not block. */
  readonly keepComing: () => void;
}

const RETRY = 300_000;

/**
 * Subscribes to the clinic's service when the first page waits for updates, and again when notifications stop.
 *
 * @param warn - called with the reason why a subscription failed
 */
export function createUpdates(
  service: BookingService,
  options: SubscriptionOptions,
  now: () => number,
  warn: (problem: string) => void,
): PortalUpdates {
  const changes = createChanges(now);
  const watch = createSubscriptionWatch(changes, now);
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
    isComplete: watch.isComplete,
    take(body) {
      const notification = notificationIn(body);
      if (notification) {
        watch.take(notification);
      }
      return notification !== undefined;
    },
    keepComing() {
      if (!watch.isHeard() && now() - triedAt > RETRY) {
        triedAt = now();
        tryToSubscribe().catch((error: unknown) => warn(String(error)));
      }
    },
  };
}
