import type { Subscription } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome/outcome.ts';

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what a value must not hold
const forbiddenInValue = /[\u0000-\u0008\u000a-\u001f\u007f]|[^\u0000-\u00ff]/;

/** Headers that belong to the connection or to the notification itself. */
const reserved: readonly string[] = [
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/**
 * Reads one line of `channel.header`; `undefined` if it is not allowed. The name ends at the first colon. The value may
 * contain further colons; only white space around it is removed.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-5
 */
export function parseHeader(line: unknown): readonly [name: string, value: string] | undefined {
  const colon = typeof line === 'string' ? line.indexOf(':') : -1;
  if (typeof line !== 'string' || colon < 1) {
    return undefined;
  }
  const name = line.slice(0, colon).trim();
  const value = line.slice(colon + 1).trim();
  const isUsable = token.test(name) && !forbiddenInValue.test(line) && !reserved.includes(name.toLowerCase());
  return isUsable ? [name, value] : undefined;
}

const MAX_HEADERS = 20;

/** The largest total length of the headers of one Subscription: HTTP servers refuse requests with much more. */
const MAX_CHARACTERS = 8_000;

/** The issues of a subscriber's headers: too many, too long, or not possible in a notification. */
export function headerIssues(sent: unknown): Issue[] {
  if (sent === undefined) {
    return [];
  }
  const lines: unknown[] = Array.isArray(sent) ? sent : [sent];
  const issue = (diagnostics: string, index?: number): Issue => ({
    code: 'malformed-request',
    diagnostics,
    expression: `Subscription.channel.header${index === undefined ? '' : `[${index}]`}`,
  });
  if (lines.length > MAX_HEADERS) {
    return [issue(`A Subscription can have at most ${MAX_HEADERS} headers.`)];
  }
  if (lines.reduce<number>((sum, line) => sum + (typeof line === 'string' ? line.length : 0), 0) > MAX_CHARACTERS) {
    return [issue(`The headers of a Subscription can have at most ${MAX_CHARACTERS} characters in total.`)];
  }
  const malformed =
    'A header must have the form Name: value. Headers of the connection or of the notification itself cannot be set.';
  return lines.flatMap((line, index) => (parseHeader(line) ? [] : [issue(malformed, index)]));
}

/**
 * The headers of a stored Subscription. A repeated name, in any letter case, has several values. They are own
 * properties only: a header may be called `constructor` or `__proto__`.
 */
export function headersOf(lines: readonly string[] = []): Record<string, string[]> {
  const headers = new Map<string, [name: string, values: string[]]>();
  for (const line of lines) {
    const header = parseHeader(line);
    if (header) {
      const [name, value] = header;
      const [first, values] = headers.get(name.toLowerCase()) ?? [name, []];
      headers.set(name.toLowerCase(), [first, [...values, value]]);
    }
  }
  return Object.fromEntries(headers.values());
}

/** The channels of the service, with the `channel.type` of each in Medplum. */
const storedTypes = {
  'rest-hook': 'rest-hook',
  /** Medplum keeps Subscriptions of the type `websocket` in memory only, for at most an hour, and no search finds them. */
  websocket: 'message',
} as const satisfies Record<string, NonNullable<Subscription['channel']>['type']>;

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
