import { member } from '../../fhir/backport.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';

/** The operations on Subscriptions: `$status`, `$events`, `$get-ws-binding-token`, `$deliver`. */
const names = ['status', 'events', 'binding', 'deliver'] as const;

/** An operation on Subscriptions, as the input of the Bot. */
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
