import { createReference } from '@medplum/core';
import type { Bundle, Subscription, SubscriptionStatus } from '@medplum/fhirtypes';
import { visible } from '../access/fields.ts';
import { type Platform, system } from '../platform.ts';
import { type Change, type StoredResource, subjectOf } from '../storage/change.ts';
import { type Audience, concerns } from './audience.ts';
import type { BindingClaims } from './binding-token.ts';

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

function handshakeBundle(source: BundleSource, subscriptionId: string): Bundle {
  return bundle(source, [{ resource: statusOf(source, 'handshake', subscriptionId) }]);
}

function heartbeatBundle(source: BundleSource, subscriptionIds: Iterable<string>): Bundle {
  return bundle(
    source,
    [...subscriptionIds].map((id) => ({ resource: statusOf(source, 'heartbeat', id) })),
  );
}

/**
 * The message about a change. As in Medplum, events are not counted, and the interaction is not named.
 *
 * @param resource - sent unchanged
 */
function eventBundle(source: BundleSource, subscriptionId: string, resource: StoredResource): Bundle {
  const timestamp = source.now().toISOString();
  const notificationEvent = [{ eventNumber: '0', timestamp, focus: createReference(resource) }];
  const fullUrl = `${source.baseUrl()}fhir/R4/${resource.resourceType}/${resource.id}`;
  return bundle(source, [
    { resource: { ...statusOf(source, 'event-notification', subscriptionId), notificationEvent } },
    { resource, fullUrl },
  ]);
}

/** A websocket, which may be bound to several Subscriptions. */
export interface Listener {
  send(message: object): void;
}

/** The bindings of websockets to Subscriptions. */
export interface WebsocketSubscriptions {
  /**
   * Binds a websocket to a Subscription and sends the handshake. As in Medplum, a missing Subscription causes no
   * message.
   */
  bind(listener: Listener, claims: BindingClaims): void;
  /** Ends a binding. The Subscription ends with it, for all websockets bound to it. */
  unbind(listener: Listener, claims: BindingClaims): void;
  /** Ends all bindings of a closed websocket, and their Subscriptions. */
  leave(listener: Listener): void;
  heartbeat(): void;
  /** Notifies websockets of committed changes, in the order of the calls. */
  notify(changes: readonly Change[]): void;
  /** Number of Subscriptions that a member has bound; `user` is the reference to its profile. */
  countOf(user: string): number;
}

interface Active {
  readonly criteria: string;
  readonly claims: BindingClaims;
}

/**
 * Creates the bindings, without any websocket.
 *
 * @see https://www.medplum.com/docs/subscriptions/websocket-subscriptions
 */
export function createWebsocketSubscriptions(platform: Platform, audience: Audience): WebsocketSubscriptions {
  const { store, logger } = platform;
  const active = new Map<string, Active>();
  const bindings = new Map<Listener, Set<string>>();
  let notified = Promise.resolve();

  function cached(id: string): Subscription | undefined {
    const resource = store.cache.find('Subscription', id)?.resource;
    return resource?.resourceType === 'Subscription' ? resource : undefined;
  }

  function release(listener: Listener, id: string): boolean {
    const own = bindings.get(listener);
    const wasBound = own?.delete(id) ?? false;
    if (own?.size === 0) {
      bindings.delete(listener);
    }
    return wasBound;
  }

  function listenersOf(id: string): Listener[] {
    return [...bindings].flatMap(([listener, own]) => (own.has(id) ? [listener] : []));
  }

  function end(id: string): void {
    active.delete(id);
    store.cache.delete('Subscription', id);
  }

  function endForAll(id: string): void {
    for (const listener of listenersOf(id)) {
      release(listener, id);
    }
    end(id);
  }

  async function tell(change: Change, resource: StoredResource): Promise<void> {
    for (const [id, { criteria, claims }] of [...active]) {
      const subscription = cached(id);
      if (!subscription || !(await concerns(change, resource, subscription, criteria))) {
        continue;
      }
      if (claims.exp * 1000 < platform.now().getTime()) {
        active.delete(id);
      } else if (!audience.isMember(claims)) {
        endForAll(id);
      } else if (audience.mayRead(claims, resource)) {
        const event = eventBundle(platform, id, visible(system, resource));
        for (const listener of listenersOf(id)) {
          listener.send(event);
        }
      }
    }
  }

  async function tellAll(changes: readonly Change[]): Promise<void> {
    for (const change of changes) {
      const resource = subjectOf(change);
      if (resource && resource.resourceType !== 'AuditEvent' && audience.isEnabled(resource)) {
        await tell(change, resource);
      }
    }
  }

  return {
    bind(listener, claims) {
      const id = claims.subscription_id;
      const subscription = cached(id);
      if (!subscription) {
        logger.warn('Websocket Subscription is gone', { id });
        return;
      }
      active.set(id, { criteria: subscription.criteria, claims });
      bindings.set(listener, (bindings.get(listener) ?? new Set()).add(id));
      listener.send(handshakeBundle(platform, id));
    },
    unbind(listener, { subscription_id: id }) {
      if (release(listener, id)) {
        end(id);
      }
    },
    leave(listener) {
      for (const id of bindings.get(listener) ?? []) {
        end(id);
      }
      bindings.delete(listener);
    },
    heartbeat() {
      for (const [listener, own] of bindings) {
        listener.send(heartbeatBundle(platform, own));
      }
    },
    notify(changes) {
      if (active.size > 0) {
        notified = notified
          .then(() => tellAll(changes))
          .catch((error: unknown) => logger.warn('Websockets were not told', { error: String(error) }));
      }
    },
    countOf: (user) => [...active].filter(([id, { claims }]) => claims.profile === user && cached(id)).length,
  };
}
