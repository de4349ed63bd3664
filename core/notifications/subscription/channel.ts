import type { Subscription } from '@medplum/fhirtypes';

/** The channels of the service, with the `channel.type` of each in Medplum. */
const storedTypes = {
  'rest-hook': 'rest-hook',
  /** Medplum keeps Subscriptions of the type `websocket` in memory only, for at most an hour, and no search finds them. */
  websocket: 'message',
} as const satisfies Record<string, NonNullable<Subscription['channel']>['type']>;

/** The channel of a Subscription. */
export type ChannelType = keyof typeof storedTypes;

export const channelTypes = Object.keys(storedTypes) as readonly ChannelType[];

/** Every `channel.type` of the service's Subscriptions, in requests or in Medplum. */
export const knownTypes: readonly string[] = [...new Set([...channelTypes, ...Object.values(storedTypes)])];

export function isChannelType(value: unknown): value is ChannelType {
  return channelTypes.some((type) => type === value);
}

/**
 * The value for a search by `type` in Medplum: comma-separated. An unsupported type becomes one that no Subscription
 * has.
 */
export function typeQuery(value: string): string {
  return value
    .split(',')
    .map((type) => (isChannelType(type) ? storedTypes[type] : 'none'))
    .join(',');
}

/** A Subscription with the channel type for Medplum. */
export function asStored(subscription: Subscription): Subscription {
  const { channel } = subscription;
  return isChannelType(channel.type)
    ? { ...subscription, channel: { ...channel, type: storedTypes[channel.type] } }
    : subscription;
}

/** A Subscription for its subscriber: with the channel type that it sent, and without headers, which may be secret. */
export function publicSubscription(subscription: Subscription): Subscription {
  const { header: _, ...channel } = subscription.channel;
  const type = channelTypes.find((one) => storedTypes[one] === channel.type) ?? channel.type;
  return { ...subscription, channel: { ...channel, type } };
}

/** Whether an update changes the destination of notifications and so requires a new handshake. */
export function isRedirected(stored: Subscription, changed: Subscription): boolean {
  const channel = ({ channel: { type, endpoint, header } }: Subscription) => JSON.stringify([type, endpoint, header]);
  return channel(stored) !== channel(changed);
}
