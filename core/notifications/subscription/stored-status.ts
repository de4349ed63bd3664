import type { Coding, Subscription } from '@medplum/fhirtypes';
import { isSameToken } from '../../fhir/token.ts';

const SYSTEM = 'http://hl7.org/fhir/subscription-status';

/** The tag of a Subscription that is active on the wire. */
const ACTIVE: Coding = { system: SYSTEM, code: 'active', display: 'Active: the booking service delivers' };

/** Medplum finds the tag in any letter case, so a variant that another writer has left counts, too. */
const isActiveTag = (tag: Coding | undefined): boolean =>
  isSameToken(tag?.system, ACTIVE.system) && isSameToken(tag?.code, ACTIVE.code);

const tagsOf = ({ meta }: Subscription): Coding[] => (Array.isArray(meta?.tag) ? meta.tag : []);

/** A Subscription without the tag; `meta` stays as it is where there is none. */
function withoutTag<T extends Subscription>(subscription: T): T {
  const tags = tagsOf(subscription);
  const kept = tags.filter((tag) => !isActiveTag(tag));
  if (kept.length === tags.length) {
    return subscription;
  }
  const { tag: _, ...meta } = subscription.meta ?? {};
  return { ...subscription, meta: { ...meta, ...(kept.length > 0 && { tag: kept }) } };
}

/**
 * A Subscription with its status as Medplum stores it. To Medplum `active` means that it is to carry out the Subscription
 * itself: it reads all active ones of the project before and after each write of any resource, 1,000 at most. Those of
 * the service, which Medplum does not carry out, stay `requested` there, and a tag says that they are active.
 *
 * @param subscription - with the status that subscribers see
 */
export function withStoredStatus<T extends Subscription>(subscription: T): T {
  const bare = withoutTag(subscription);
  return bare.status === 'active'
    ? { ...bare, status: 'requested', meta: { ...bare.meta, tag: [...tagsOf(bare), ACTIVE] } }
    : bare;
}

/**
 * A Subscription with the status that subscribers see. What administrators set in Medplum takes precedence: the tag
 * counts only as long as the Subscription is requested.
 *
 * @param subscription - as stored; one with the status that subscribers see stays as it is
 */
export function withPublicStatus<T extends Subscription>(subscription: T): T {
  const isActive = subscription.status === 'requested' && tagsOf(subscription).some(isActiveTag);
  return { ...withoutTag(subscription), ...(isActive && { status: 'active' }) };
}

/**
 * Whether the status of a Subscription is stored as `withStoredStatus` does it: no one has set another one in Medplum.
 */
export function hasStoredStatus(subscription: Subscription): boolean {
  const isTagged = tagsOf(subscription).some(isActiveTag);
  return subscription.status !== 'active' && (!isTagged || subscription.status === 'requested');
}

/** The value of a search by `_tag` for Subscriptions that are active. */
export const activeTagQuery = `${SYSTEM}|${ACTIVE.code}`;

/** The statuses that a Subscription can have. */
const statuses = ['requested', 'active', 'error', 'off'] as const satisfies readonly Subscription['status'][];

/** The conditions of Medplum's `_filter` that find the Subscriptions with a status. */
function conditionsOf(status: string): string[] {
  switch (status) {
    case 'active':
      return [`(status eq "requested" and _tag eq "${activeTagQuery}")`, '(status eq "active")'];
    case 'requested':
      return [`(status eq "requested" and _tag ne "${activeTagQuery}")`];
    default:
      return statuses.some((known) => known === status) ? [`(status eq "${status}")`] : [];
  }
}

/**
 * A search by the status that subscribers see, as Medplum carries it out: one `_filter`.
 *
 * @param value - one or several statuses, separated by commas; an unknown one finds nothing
 * @param isNot - whether all but those are wanted
 */
export function statusQuery(value: string, isNot: boolean): { readonly name: '_filter'; readonly value: string } {
  const sent = value.split(',').map((status) => status.trim());
  const wanted = isNot ? statuses.filter((status) => !sent.includes(status)) : [...new Set(sent)];
  const conditions = wanted.flatMap(conditionsOf);
  return { name: '_filter', value: conditions.length > 0 ? conditions.join(' or ') : '(status eq "none")' };
}
