import type { Subscription } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { artefactUri } from '../../fhir/artefacts.ts';
import { backport, extensionCount, extensionValues, member } from '../../fhir/backport.ts';
import { parseInstant } from '../../fhir/instant.ts';
import { mediaTypes, withoutParameters } from '../../fhir/media-types.ts';
import { type Issue, quoted } from '../../fhir/outcome/outcome.ts';
import { type ChannelType, channelTypes, headerIssues, isChannelType, publicSubscription } from './channel.ts';
import { parseEndpoint } from './endpoint-policy.ts';
import { type Condition, parseFilter } from './filter.ts';
import { type TopicName, topicNames, topicOf, topicUrl } from './topics.ts';

/** The operations on Subscriptions: `$status`, `$events`, `$get-ws-binding-token`, `$deliver`. */
const names = ['status', 'events', 'binding', 'deliver'] as const;

export interface SubscriptionOperation {
  readonly operation: (typeof names)[number];
  /** Absent for `$status` on the type. */
  readonly id?: string | undefined;
  /** `$status` on the type: the requested Subscriptions; absent for all. */
  readonly ids?: readonly string[] | undefined;
  /** `$status` on the type: Subscriptions in these statuses only. */
  readonly statuses?: readonly string[] | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** `$events`: the content, if it differs from that of the Subscription. */
  readonly content?: string | undefined;
}

const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const textsIn = (value: unknown): string[] | undefined =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : undefined;

const numberIn = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;

/**
 * Reads the input of the Bot, which any caller can send: `malformed-request` without a known operation. A value of the
 * wrong type counts as absent.
 */
export function readSubscriptionOperation(sent: unknown): SubscriptionOperation | Issue {
  const operation = names.find((name) => name === member(sent, 'operation'));
  if (!operation) {
    return { code: 'malformed-request', diagnostics: `The operation must be one of ${names.join(', ')}.` };
  }
  return {
    operation,
    id: textIn(member(sent, 'id')),
    ids: textsIn(member(sent, 'ids')),
    statuses: textsIn(member(sent, 'statuses')),
    since: numberIn(member(sent, 'since')),
    until: numberIn(member(sent, 'until')),
    content: textIn(member(sent, 'content')),
  };
}

export const contents = ['empty', 'id-only', 'full-resource'] as const;

/** The amount of data about the appointment in a notification. */
export type Content = (typeof contents)[number];

export interface SubscriptionParameters {
  readonly topic: TopicName;
  /** Conditions that an appointment must meet, all of them. */
  readonly conditions: readonly Condition[];
  /** The address of notifications; `undefined` for bound websockets. */
  readonly endpoint: URL | undefined;
  readonly mediaType: string;
  readonly content: Content;
  /** Seconds after a notification until a heartbeat is due. */
  readonly heartbeat: number | undefined;
  /** Milliseconds until a response of the subscriber is overdue. */
  readonly timeout: number;
  readonly wantsOwnChanges: boolean;
  readonly end: number | undefined;
}

const USUAL_TIMEOUT = 5;

/** The longest timeout, in seconds, so that a delivery ends within the time that Medplum gives a Bot. */
const MAX_TIMEOUT = 8;

const payloads: Readonly<Record<ChannelType, readonly string[]>> = {
  'rest-hook': [...mediaTypes.json, ...mediaTypes.xml],
  websocket: mediaTypes.json,
};

const missing = (path: string, what: string): Issue => ({
  code: 'element-missing',
  diagnostics: `${path} is required: ${what}.`,
  expression: path,
});

/** A setting, `undefined` if it is absent or invalid, and the issues of what was sent. */
type Read<T> = readonly [value: T | undefined, ...issues: Issue[]];

function readTopic(sent: unknown, config: BookingConfig): Read<TopicName> {
  const expression = 'Subscription.criteria';
  const known = topicNames.map((name) => topicUrl(name, config)).join(', ');
  if (sent === undefined) {
    return [undefined, missing(expression, `the address of a topic, one of ${known}`)];
  }
  const topic = topicOf(sent, config);
  const diagnostics = `The criteria must be one of ${known}, not ${quoted(sent)}.`;
  return topic ? [topic] : [undefined, { code: 'topic-unknown', diagnostics, expression }];
}

const MAX_FILTERS = 10;

function readConditions(element: unknown, { baseUrl }: BookingConfig): Read<Condition[]> {
  const expression = 'Subscription.criteria';
  const filters = extensionValues(element, backport.filterCriteria);
  // An ignored filter would notify the subscriber of more than it asked for.
  if (extensionCount(element) > filters.length) {
    const diagnostics = `A filter is an extension ${backport.filterCriteria}; there is no other extension of the criteria.`;
    return [undefined, { code: 'filter-unsupported', diagnostics, expression }];
  }
  if (filters.length > MAX_FILTERS) {
    const diagnostics = `A Subscription can have at most ${MAX_FILTERS} filters.`;
    return [undefined, { code: 'filter-unsupported', diagnostics, expression }];
  }
  const read = filters.map((text) => parseFilter(text, expression, baseUrl));
  const issues = read.flatMap((filter) => ('code' in filter ? [filter] : []));
  return [read.flatMap((filter) => ('code' in filter ? [] : filter)), ...issues];
}

const unsupported = (expression: string, diagnostics: string): Issue => ({
  code: 'channel-unsupported',
  diagnostics,
  expression,
});

function readChannelType(type: unknown): Read<ChannelType> {
  const expression = 'Subscription.channel.type';
  const known = channelTypes.join(' or ');
  if (type === undefined) {
    return [undefined, missing(expression, known)];
  }
  return isChannelType(type)
    ? [type]
    : [undefined, unsupported(expression, `The channel type must be ${known}, not ${quoted(type)}.`)];
}

function readEndpoint(sent: unknown, type: ChannelType | undefined): Read<URL> {
  const expression = 'Subscription.channel.endpoint';
  if (type === 'websocket') {
    const diagnostics =
      'A websocket Subscription must not have an endpoint: call $get-ws-binding-token and connect to the websocket-url it returns.';
    return sent === undefined ? [undefined] : [undefined, unsupported(expression, diagnostics)];
  }
  if (typeof sent !== 'string' || sent === '') {
    return [undefined, missing(expression, 'the https URL that notifications are sent to')];
  }
  const read = parseEndpoint(sent);
  return typeof read === 'string'
    ? [undefined, { code: 'endpoint-not-allowed', diagnostics: read, expression }]
    : [read];
}

function readMediaType(sent: unknown, type: ChannelType = 'rest-hook'): Read<string> {
  const expression = 'Subscription.channel.payload';
  const known = payloads[type];
  if (typeof sent !== 'string') {
    return [undefined, missing(expression, known.join(' or '))];
  }
  const isKnown = known.includes(withoutParameters(sent));
  const isPlain = /^[\w/+.;= "-]+$/.test(sent);
  return isKnown && isPlain
    ? [sent]
    : [undefined, unsupported(expression, `The payload must be ${known.join(' or ')}, not ${quoted(sent)}.`)];
}

function readContent(element: unknown): Read<Content> {
  const expression = 'Subscription.channel.payload';
  const [sent] = extensionValues(element, backport.payloadContent);
  if (sent === undefined) {
    return [undefined, missing(expression, `the extension ${backport.payloadContent} with ${contents.join(', ')}`)];
  }
  const content = contents.find((one) => one === sent);
  const diagnostics = `The content must be one of ${contents.join(', ')}, not ${quoted(sent)}.`;
  return content ? [content] : [undefined, unsupported(expression, diagnostics)];
}

function readSeconds(channel: unknown, url: string): Read<number> {
  const [sent] = extensionValues(channel, url);
  if (sent === undefined) {
    return [undefined];
  }
  const isSeconds = typeof sent === 'number' && Number.isInteger(sent) && sent >= 0;
  const diagnostics = `The extension ${url} must have a valueUnsignedInt, in seconds.`;
  return isSeconds
    ? [sent]
    : [undefined, { code: 'malformed-request', diagnostics, expression: 'Subscription.channel' }];
}

function readEnd(sent: unknown): Read<number> {
  const end = parseInstant(sent);
  const diagnostics = `The end must be an instant, not ${quoted(sent)}.`;
  return sent === undefined || end !== undefined
    ? [end]
    : [undefined, { code: 'malformed-request', diagnostics, expression: 'Subscription.end' }];
}

/**
 * Reads the settings of a Subscription. The check of the addresses of its endpoint follows after name resolution
 * (`endpointProblem`).
 * @param sent - the Subscription of a subscriber, of any shape
 * @returns the settings if there are no issues, and all issues
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/StructureDefinition-backport-subscription.html
 */
export function readSubscriptionParameters(
  sent: unknown,
  config: BookingConfig,
): { readonly settings?: SubscriptionParameters; readonly issues: readonly Issue[] } {
  const channel = member(sent, 'channel');
  const [topic, ...topicIssues] = readTopic(member(sent, 'criteria'), config);
  const [conditions, ...filterIssues] = readConditions(member(sent, '_criteria'), config);
  const [type, ...typeIssues] = readChannelType(member(channel, 'type'));
  const [endpoint, ...endpointIssues] = readEndpoint(member(channel, 'endpoint'), type);
  const [mediaType, ...payloadIssues] = readMediaType(member(channel, 'payload'), type);
  const [content, ...contentIssues] = readContent(member(channel, '_payload'));
  const [heartbeat, ...heartbeatIssues] = readSeconds(channel, backport.heartbeatPeriod);
  const [seconds, ...timeoutIssues] = readSeconds(channel, backport.timeout);
  const [end, ...endIssues] = readEnd(member(sent, 'end'));
  const issues = [
    ...topicIssues,
    ...filterIssues,
    ...typeIssues,
    ...endpointIssues,
    ...payloadIssues,
    ...contentIssues,
    ...headerIssues(member(channel, 'header')),
    ...heartbeatIssues,
    ...timeoutIssues,
    ...endIssues,
  ];
  if (issues.length > 0 || !topic || !conditions || !mediaType || !content) {
    return { issues };
  }
  const timeout = Math.min(seconds || USUAL_TIMEOUT, MAX_TIMEOUT) * 1000;
  const wantsOwnChanges = extensionValues(sent, artefactUri(config, 'LocalOwnChanges')).includes(true);
  const settings = { topic, conditions, endpoint, mediaType, content, timeout, wantsOwnChanges, end };
  return { settings: { ...settings, heartbeat: heartbeat || undefined }, issues };
}

/** The settings of a stored Subscription; `undefined` if they are invalid. */
export function storedParameters(stored: Subscription, config: BookingConfig): SubscriptionParameters | undefined {
  return readSubscriptionParameters(publicSubscription(stored), config).settings;
}
