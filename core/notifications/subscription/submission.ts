import type { Subscription } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { artefactUri } from '../../fhir/artefacts.ts';
import { member } from '../../fhir/backport.ts';
import { conditionalReferenceIssues, idIssues, sizeProblem, unsupportedIssues } from '../../fhir/bounds.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { narrativeIssues } from '../../fhir/narrative/narrative.ts';
import { type Issue, quoted } from '../../fhir/outcome/outcome.ts';
import { isObject, isResource } from '../../fhir/resource.ts';
import { metaOfSubmitted, withoutReserved } from '../../fhir/tags.ts';
import { asStored, isRedirected } from './channel.ts';
import { storedFilters } from './filter.ts';
import { readSubscriptionParameters, type SubscriptionParameters } from './subscription-parameters.ts';

export interface Submission {
  readonly sent: Subscription;
  readonly settings: SubscriptionParameters;
}

function isSubscription(value: unknown): value is Subscription {
  return isResource(value, 'Subscription') && (value.meta === undefined || isObject(value.meta));
}

function missingReason(sent: unknown): Issue[] {
  const isThere = typeof member(sent, 'reason') === 'string';
  const diagnostics = 'Subscription.reason is required: say as text why the subscriber needs the notifications.';
  return isThere ? [] : [{ code: 'element-missing', diagnostics, expression: 'Subscription.reason' }];
}

/** The statuses that a subscriber may send. A new Subscription must be requested. */
const statuses = {
  create: ['requested'],
  update: ['requested', 'active', 'error', 'off'],
} as const;

function statusIssues(sent: unknown, kind: keyof typeof statuses): Issue[] {
  const status = member(sent, 'status');
  const allowed: readonly unknown[] = statuses[kind];
  if (allowed.includes(status)) {
    return [];
  }
  const diagnostics = `The status must be ${allowed.join(' or ')}, not ${quoted(status)}.`;
  const code = status === undefined ? 'element-missing' : 'profile-violation';
  return [{ code, diagnostics, expression: 'Subscription.status' }];
}

function endIssues(settings: SubscriptionParameters | undefined, now: number): Issue[] {
  const isOver = settings?.end !== undefined && settings.end <= now;
  const diagnostics = 'The end of a new Subscription must be in the future.';
  return isOver ? [{ code: 'profile-violation', diagnostics, expression: 'Subscription.end' }] : [];
}

/**
 * Checks a Subscription from a subscriber. An update may end it, by its status or its end. Elements that only the
 * service sets are dropped.
 * @param body - of the request, with unchecked content
 * @param id - of the stored Subscription for an update
 */
export function parseSubmission(
  body: unknown,
  id: string | undefined,
  now: number,
  config: BookingConfig,
): { readonly submission?: Submission; readonly issues: readonly Issue[] } {
  const tooLarge = sizeProblem(body);
  const sent = tooLarge ? undefined : withoutReserved(body, config);
  if (!isSubscription(sent)) {
    const diagnostics = `The body must ${tooLarge ? `not ${tooLarge}` : 'be a Subscription resource'}.`;
    return { issues: [{ code: 'malformed-request', diagnostics, expression: 'http.body' }] };
  }
  const kind = id === undefined ? 'create' : 'update';
  const { settings, issues: found } = readSubscriptionParameters(sent, config);
  const issues = [
    ...(id === undefined ? [] : idIssues(sent, id, 'Subscription')),
    ...statusIssues(sent, kind),
    ...missingReason(sent),
    ...found,
    ...conditionalReferenceIssues(sent, 'Subscription'),
    ...unsupportedIssues(sent, 'Subscription'),
    ...narrativeIssues(sent, 'Subscription'),
    ...(kind === 'create' ? endIssues(settings, now) : []),
  ];
  return settings && issues.length === 0 ? { submission: { sent, settings }, issues } : { issues };
}

/** The stored form of a new Subscription: with its profile and the tag of its owner. */
export function newSubscription({ sent, settings }: Submission, owner: string, config: BookingConfig): Subscription {
  const { id: _, meta, error: __, ...rest } = sent;
  const criteria = member(sent, '_criteria');
  const filters = criteria === undefined ? {} : { _criteria: storedFilters(criteria, config.baseUrl) };
  const profile = artefactUri(config, 'LocalSubscriptionTermin');
  const end = settings.end === undefined ? {} : { end: formatInstant(settings.end) };
  return asStored({ ...rest, ...filters, ...end, meta: metaOfSubmitted(meta, owner, config, [profile]) });
}

function originOf({ endpoint = '' }: Subscription['channel']): string | undefined {
  return URL.canParse(endpoint) ? new URL(endpoint).origin : undefined;
}

/**
 * The headers after an update. Without new headers the stored ones stay if the endpoint keeps its origin, since they
 * may contain a secret that no other origin may see.
 */
function headersAfter(sent: Subscription['channel'], stored: Subscription['channel']): string[] | undefined {
  const kept = originOf(sent) === originOf(stored) ? stored.header : undefined;
  const headers = sent.header ?? kept ?? [];
  return headers.length > 0 ? headers : undefined;
}

/**
 * The stored form of an update. The subscriber cannot read the stored headers, so they stay if it sends none
 * (`headersAfter`). The status becomes `off`, stays `active`, or is `requested`, which starts a new handshake.
 */
export function updatedSubscription(
  { sent, settings }: Submission,
  stored: Subscription,
  owner: string,
  now: number,
  config: BookingConfig,
): Subscription {
  const { error, ...rest } = newSubscription({ sent, settings }, owner, config);
  const changed: Subscription = {
    ...rest,
    ...(stored.id && { id: stored.id }),
    channel: { ...rest.channel, header: headersAfter(sent.channel, stored.channel) },
  };
  if (sent.status === 'off' || (settings.end !== undefined && settings.end <= now)) {
    return { ...changed, status: 'off' };
  }
  const stays = stored.status === 'active' && sent.status === 'active' && !isRedirected(stored, changed);
  return { ...changed, status: stays ? 'active' : 'requested' };
}
