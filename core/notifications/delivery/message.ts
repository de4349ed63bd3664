import type { Bundle, Communication, Subscription } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { isObject, isResource } from '../../fhir/resource.ts';
import { requestorTag } from '../../fhir/tags.ts';

const tokenOf = (subscriptionId: string, config: PublicConfig) => ({
  system: artefactUri(config, 'LocalEvent'),
  value: `${subscriptionId}/last`,
});

/**
 * The Communication with the last notification of a Subscription. Medplum sends it to the bound websockets when it is
 * written. Each Subscription has one, and its owner may read it.
 */
export function messageResource(
  bundle: Bundle,
  subscriptionId: string,
  owner: string,
  config: PublicConfig,
  stored?: Communication,
): Communication {
  return {
    resourceType: 'Communication',
    ...(stored?.id && { id: stored.id }),
    meta: { tag: [requestorTag(owner, config)] },
    identifier: [tokenOf(subscriptionId, config)],
    status: 'completed',
    partOf: [{ reference: `Subscription/${subscriptionId}` }],
    payload: [{ contentString: JSON.stringify(bundle) }],
  };
}

/** The notification in a Communication; `undefined` if there is none. */
export function notificationIn(communication: unknown): Bundle | undefined {
  const payload = isResource(communication, 'Communication') ? communication.payload : undefined;
  const [first]: unknown[] = Array.isArray(payload) ? payload : [];
  const text = isObject(first) ? first.contentString : undefined;
  if (typeof text !== 'string') {
    return undefined;
  }
  try {
    const bundle: unknown = JSON.parse(text);
    return isResource(bundle, 'Bundle') ? bundle : undefined;
  } catch {
    return undefined;
  }
}

export function messageQuery(subscriptionId: string, config: PublicConfig): string {
  const { system, value } = tokenOf(subscriptionId, config);
  return `Communication?identifier=${encodeURIComponent(`${system}|${value}`)}`;
}

/**
 * The Subscription, kept in Medplum's memory, that sends a Subscription's messages to the websocket of profile
 * `binder`.
 */
export function messageSubscription(subscriptionId: string, binder: string, config: PublicConfig): Subscription {
  return {
    resourceType: 'Subscription',
    meta: { tag: [requestorTag(binder, config)] },
    status: 'active',
    reason: `Messages of Subscription/${subscriptionId}`,
    criteria: messageQuery(subscriptionId, config),
    channel: { type: 'websocket' },
  };
}
