import type { Subscription } from '@medplum/fhirtypes';

/** The channels of the service, with the `channel.type` of each in Medplum. No other module depends on the difference. */
const storedTypes = {
  'rest-hook': 'rest-hook',
  /** Medplum keeps Subscriptions of the type `websocket` in memory only, for at most an hour, and no search finds them. */
  websocket: 'message',
} as const satisfies Record<string, NonNullable<Subscription['channel']>['type']>;

/** How notifications reach a subscriber. */
export type ChannelType = keyof typeof storedTypes;

/** The channels of the service. */
export const channelTypes = Object.keys(storedTypes) as readonly ChannelType[];

/** Every `channel.type` that a Subscription of the service has, on the wire or in Medplum. */
export const knownTypes: readonly string[] = [...new Set([...channelTypes, ...Object.values(storedTypes)])];

/** Whether a value names a channel of the service. */
export function isChannelType(value: unknown): value is ChannelType {
  return channelTypes.some((type) => type === value);
}

/**
 * The value of a search by `type` as Medplum understands it. A type that the service does not support becomes one that no
 * Subscription has.
 *
 * @param value - one or several types, separated by commas
 */
export function typeQuery(value: string): string {
  return value
    .split(',')
    .map((type) => (isChannelType(type) ? storedTypes[type] : 'none'))
    .join(',');
}

/** A Subscription with its channel as Medplum stores it. */
export function asStored(subscription: Subscription): Subscription {
  const { channel } = subscription;
  return isChannelType(channel.type)
    ? { ...subscription, channel: { ...channel, type: storedTypes[channel.type] } }
    : subscription;
}

/**
 * A Subscription as its subscribers see it: without its headers, which may hold secrets, and with the channel type that they
 * sent.
 */
export function publicSubscription(subscription: Subscription): Subscription {
  const { header: _, ...channel } = subscription.channel;
  const type = channelTypes.find((one) => storedTypes[one] === channel.type) ?? channel.type;
  return { ...subscription, channel: { ...channel, type } };
}

/**
 * Whether an update changes where or how notifications are sent, so that a new handshake must show whether they arrive.
 */
export function isRedirected(stored: Subscription, changed: Subscription): boolean {
  const channel = ({ channel: { type, endpoint, header } }: Subscription) => JSON.stringify([type, endpoint, header]);
  return channel(stored) !== channel(changed);
}
