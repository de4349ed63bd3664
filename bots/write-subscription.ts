import type { BotEvent, MedplumClient } from '@medplum/core';
import type { BundleEntry, OperationOutcome, Subscription } from '@medplum/fhirtypes';
import type { Issue } from '../core/fhir/outcome.ts';
import { isResource } from '../core/fhir/resource.ts';
import { ended, restarted } from '../core/notifications/delivery/delivery-state.ts';
import { newOutbox, type Outbox, outboxTask } from '../core/notifications/delivery/outbox.ts';
import { asShown } from '../core/notifications/subscription/channel.ts';
import { member } from '../core/notifications/subscription/extension-values.ts';
import {
  newSubscription,
  parseSubmission,
  type Submission,
  updatedSubscription,
} from '../core/notifications/subscription/submission.ts';
import { config } from './lib/config.ts';
import { type BundleAnswer, retryOvertaken, sendTransaction } from './lib/medplum.ts';
import { newId } from './lib/new-id.ts';
import {
  outboxEntry,
  readOutbox,
  type SubscriptionOutbox,
  subscriptionEntry,
} from './lib/notifications/outbox-store.ts';
import { resolveEndpoint } from './lib/notifications/resolve-endpoint.ts';
import {
  countOwnSubscriptions,
  readAsCaller,
  readableAppointmentsOf,
  refusals,
  refuse,
  type Subscriber,
  subscriberOf,
  unavailable,
} from './lib/notifications/subscriber.ts';

type Answer = Subscription | OperationOutcome;

function refusedByServer(answer: BundleAnswer): OperationOutcome {
  if (answer.kind !== 'invalid') {
    return refuse([unavailable]);
  }
  return refuse(
    answer.outcome.issue.map(
      ({ details, diagnostics, expression }): Issue => ({
        code: 'malformed-request',
        diagnostics: details?.text ?? diagnostics ?? 'The server refused the Subscription as not valid.',
        ...(expression?.[0] && { expression: expression[0] }),
      }),
    ),
  );
}

/** How long a subscriber waits for the name of its endpoint to be resolved, in milliseconds. */
const NAME_LIMIT = 2_000;

/** An endpoint whose name is not known yet may be subscribed with: the handshake will tell. */
async function endpointIssues({ settings: { endpoint } }: Submission): Promise<Issue[]> {
  const { allowedNetworks } = config.notifications;
  const destination = endpoint ? await resolveEndpoint(endpoint, NAME_LIMIT, allowedNetworks) : { addresses: [] };
  return 'problem' in destination && !destination.isUnknown
    ? [{ code: 'endpoint-not-allowed', diagnostics: destination.problem, expression: 'Subscription.channel.endpoint' }]
    : [];
}

async function check(sent: unknown, kind: 'create' | 'update'): Promise<Submission | OperationOutcome> {
  const { submission, issues } = parseSubmission(sent, kind, Date.now(), config);
  const found = submission ? await endpointIssues(submission) : issues;
  return submission && found.length === 0 ? submission : refuse(found);
}

const exceeded: Issue = {
  code: 'subscriptions-exceeded',
  diagnostics: `One subscriber has at most ${config.notifications.maxSubscriptions} Subscriptions: delete one, or change one.`,
};

async function create(medplum: MedplumClient, input: unknown, caller: Subscriber): Promise<Answer> {
  const submission = await check(member(input, 'resource'), 'create');
  if ('resourceType' in submission) {
    return submission;
  }
  const [readable, existing] = await Promise.all([
    readableAppointmentsOf(medplum, caller),
    countOwnSubscriptions(medplum, caller),
  ]);
  if (readable.length === 0) {
    return refusals.forbidden;
  }
  if (existing === undefined || existing >= config.notifications.maxSubscriptions) {
    return refuse([existing === undefined ? unavailable : exceeded]);
  }
  const fullUrl = newId();
  const written = await sendTransaction(medplum, [
    {
      fullUrl,
      request: { method: 'POST', url: 'Subscription' },
      resource: newSubscription(submission, caller.id, config),
    },
    {
      request: { method: 'POST', url: 'Task' },
      resource: outboxTask(newOutbox(readable, Date.now()), { subscription: fullUrl, subscriber: caller.id }, config),
    },
  ]);
  const stored: unknown = written.kind === 'done' ? written.bundle.entry?.[0]?.resource : undefined;
  return isResource(stored, 'Subscription') ? asShown(stored) : refusedByServer(written);
}

/** What a change makes of a mailbox: entries of a transaction, the Subscription first, or a refusal. */
type Change = (mailbox: SubscriptionOutbox) => BundleEntry[] | OperationOutcome;

const outdated: Issue = {
  code: 'version-conflict',
  diagnostics: 'The Subscription has another version by now: read it again.',
};

const contested: Issue = {
  ...outdated,
  diagnostics: 'Others were writing the Subscription at the same moment: try again.',
};

async function attempt(medplum: MedplumClient, id: string, decide: Change): Promise<Answer | 'overtaken'> {
  const mailbox = await readOutbox(medplum, id);
  const entries = mailbox ? decide(mailbox) : refusals['not-found'];
  if ('resourceType' in entries) {
    return entries;
  }
  const written = await sendTransaction(medplum, entries);
  if (written.kind !== 'done') {
    return written.kind === 'overtaken' ? 'overtaken' : refusedByServer(written);
  }
  const stored: unknown = written.bundle.entry?.[0]?.resource;
  const result = isResource(stored, 'Subscription') ? stored : mailbox?.subscription;
  return result ? asShown(result) : refusedByServer(written);
}

/**
 * Changes a Subscription that the caller may see. Deliveries that record what they do meanwhile are no reason to refuse:
 * it is tried anew then.
 */
async function change(medplum: MedplumClient, input: unknown, caller: Subscriber, decide: Change): Promise<Answer> {
  const id = String(member(input, 'id') ?? '');
  const wanted = member(input, 'version');
  const seen = await readAsCaller(medplum, id, caller);
  if (seen.resourceType === 'OperationOutcome') {
    return seen;
  }
  if (wanted !== undefined && seen.meta?.versionId !== wanted) {
    return refuse([outdated]);
  }
  const answer = await retryOvertaken(
    () => attempt(medplum, id, decide),
    (one) => one === 'overtaken',
    { most: config.maxAttempts },
  );
  return answer === 'overtaken' ? refuse([contested]) : answer;
}

function outboxAfter(
  changed: Subscription,
  { subscription, outbox }: SubscriptionOutbox,
  readable: readonly string[],
): Outbox {
  const current = { ...outbox, readable };
  if (changed.status === 'off') {
    return ended(current);
  }
  const isAsBefore = changed.status === 'active' && subscription.status === 'active';
  return isAsBefore ? current : restarted(current, Date.now());
}

async function update(medplum: MedplumClient, input: unknown, caller: Subscriber): Promise<Answer> {
  const submission = await check(member(input, 'resource'), 'update');
  if ('resourceType' in submission) {
    return submission;
  }
  const [readable, existing = config.notifications.maxSubscriptions] = await Promise.all([
    readableAppointmentsOf(medplum, caller),
    countOwnSubscriptions(medplum, caller),
  ]);
  return change(medplum, input, caller, (mailbox) => {
    const { subscription, owner, outbox } = mailbox;
    if (subscription.status === 'off' && existing >= config.notifications.maxSubscriptions) {
      return refuse([exceeded]);
    }
    const changed = updatedSubscription(submission, subscription, owner, Date.now(), config);
    const next = outboxAfter(changed, mailbox, owner === caller.id ? readable : outbox.readable);
    return [subscriptionEntry(subscription, changed), outboxEntry(mailbox, next)];
  });
}

function remove(medplum: MedplumClient, input: unknown, caller: Subscriber): Promise<Answer> {
  return change(medplum, input, caller, (mailbox) => [
    { request: { method: 'DELETE', url: `Subscription/${mailbox.subscription.id}` } },
    outboxEntry(mailbox, ended(mailbox.outbox)),
  ]);
}

const interactions = { create, update, delete: remove } as const;

/** What the Bot is asked to do. */
export interface WriteSubscriptionInput {
  readonly interaction: keyof typeof interactions;
  /** Of the stored Subscription. */
  readonly id?: string;
  /** `meta.versionId` that the stored Subscription must have. */
  readonly version?: string;
  /** The Subscription as sent. */
  readonly resource?: unknown;
}

/**
 * Creates, changes and ends Subscriptions to topics: the one place where they are checked. The outbox is written in the
 * same transaction.
 *
 * @param event - input: SubscribeInput; headers: those of the request, for the caller's credentials
 * @returns the Subscription without its headers, or an OperationOutcome whose id stands for the HTTP status
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/index.html
 */
export async function handler(medplum: MedplumClient, event: BotEvent<WriteSubscriptionInput>): Promise<Answer> {
  return interactions[event.input.interaction](medplum, event.input, subscriberOf(event));
}
