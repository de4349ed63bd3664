import type { BotEvent, MedplumClient } from '@medplum/core';
import type { BundleEntry, OperationOutcome, Subscription } from '@medplum/fhirtypes';
import { member } from '../../core/fhir/backport.ts';
import { type Issue, serverRejectionIssues } from '../../core/fhir/outcome/outcome.ts';
import { isId } from '../../core/fhir/reference.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { requestorQuery } from '../../core/fhir/tags.ts';
import { ended, restarted } from '../../core/notifications/delivery/delivery-state.ts';
import {
  newOutbox,
  type Outbox,
  type Outboxes,
  outboxesSearch,
  withOutbox,
  withoutOutbox,
} from '../../core/notifications/delivery/outbox.ts';
import { publicSubscription } from '../../core/notifications/subscription/channel.ts';
import {
  newSubscription,
  parseSubmission,
  type Submission,
  updatedSubscription,
} from '../../core/notifications/subscription/submission.ts';
import { config } from '../lib/config.ts';
import { type BundleResponse, contestedAttempts, newId, retryOvertaken, sendTransaction } from '../lib/medplum.ts';
import { resolveEndpoint } from '../lib/notifications/delivery/resolve-endpoint.ts';
import {
  newRowEntry,
  newSubscriptionEntry,
  type OutboxRow,
  type OutboxUpdate,
  readOutbox,
  rowEntry,
  rowsIn,
  type SubscriptionOutbox,
  subscriptionEntry,
  updated,
} from '../lib/notifications/outbox-store.ts';
import {
  mayChange,
  readAsCaller,
  readableAppointmentsOf,
  refusals,
  refuse,
  type Subscriber,
  subscriberOf,
  unavailable,
} from '../lib/notifications/subscriber.ts';
import { readInTransaction } from '../lib/read.ts';

type Answer = Subscription | OperationOutcome;

function refusedByServer(answer: BundleResponse): OperationOutcome {
  if (answer.kind !== 'invalid') {
    return refuse([unavailable]);
  }
  return refuse(serverRejectionIssues(answer.outcome, 'malformed-request', 'Subscription'));
}

/** How long a subscriber waits for the name of its endpoint to be resolved, in milliseconds. */
const NAME_LIMIT = 2_000;

/** An endpoint whose name does not resolve yet is accepted: the handshake checks it again. */
async function endpointIssues({ settings: { endpoint } }: Submission): Promise<Issue[]> {
  const { allowedNetworks } = config.notifications;
  const destination = endpoint && (await resolveEndpoint(endpoint, NAME_LIMIT, allowedNetworks));
  return destination && 'problem' in destination && !destination.isUnknown
    ? [{ code: 'endpoint-not-allowed', diagnostics: destination.problem, expression: 'Subscription.channel.endpoint' }]
    : [];
}

/** The parsed Subscription, or the refusal: also for an endpoint that is not allowed. */
async function checkSubmission(sent: unknown, id?: string): Promise<Submission | OperationOutcome> {
  const { submission, issues } = parseSubmission(sent, id, Date.now(), config);
  const found = submission ? await endpointIssues(submission) : issues;
  return submission && found.length === 0 ? submission : refuse(found);
}

/** The result of an attempt to write: the Subscription, a refusal, or `overtaken`. */
type Attempt = Answer | 'overtaken';

/** Writes entries, the first of which is the Subscription or its deletion: then `before` is returned. */
async function writeAll(medplum: MedplumClient, entries: BundleEntry[], before?: Subscription): Promise<Attempt> {
  const written = await sendTransaction(medplum, entries);
  if (written.kind !== 'done') {
    return written.kind === 'overtaken' ? 'overtaken' : refusedByServer(written);
  }
  const stored: unknown = written.bundle.entry?.[0]?.resource;
  const result = isResource(stored, 'Subscription') ? stored : before;
  return result ? publicSubscription(result) : refusedByServer(written);
}

const contested: Issue = {
  code: 'version-conflict',
  diagnostics: 'Other Subscriptions of the same subscriber changed at the same moment: try again.',
};

async function tryRepeatedly(act: () => Promise<Attempt>): Promise<Answer> {
  const answer = await retryOvertaken(act, (one) => one === 'overtaken', contestedAttempts);
  return answer === 'overtaken' ? refuse([contested]) : answer;
}

/** Creates a Subscription; `forbidden` if the caller may read no appointments. Retries after a concurrent change. */
async function createSubscription(medplum: MedplumClient, input: unknown, caller: Subscriber): Promise<Answer> {
  const submission = await checkSubmission(member(input, 'resource'));
  if ('resourceType' in submission) {
    return submission;
  }
  const readable = await readableAppointmentsOf(medplum, caller);
  if (readable.length === 0) {
    return refusals.forbidden;
  }
  const fullUrl = newId();
  const resource = newSubscription(submission, caller.id, config);
  return tryRepeatedly(async () => {
    const row = await readRowBelowLimit(medplum, caller.id);
    if (row === 'overtaken' || 'code' in row) {
      return row === 'overtaken' ? row : refuse([row]);
    }
    const outboxes = withOutbox(row.outboxes, fullUrl, newOutbox(Date.now(), submission.settings));
    return writeAll(medplum, [newSubscriptionEntry(fullUrl, resource), rowEntry(row, { ...outboxes, readable })]);
  });
}

interface Change {
  readonly entry: BundleEntry;
  readonly outboxes: Outboxes;
}

const outdated: Issue = {
  code: 'version-conflict',
  diagnostics: 'The Subscription has a newer version: read it again.',
  expression: 'http.If-Match',
};

/** Whether a change restarts an ended Subscription, which then counts towards the limit again. */
const startsAnew = ({ subscription }: SubscriptionOutbox, { entry: { resource } }: Change): boolean =>
  subscription.status === 'off' && isResource(resource, 'Subscription') && resource.status !== 'off';

/** Decides and writes once. A Subscription that starts again must fit into the limit. */
async function changeOnce(
  medplum: MedplumClient,
  seen: Subscription,
  decide: (stored: SubscriptionOutbox) => Change,
): Promise<Attempt> {
  const stored = await readOutbox(medplum, seen);
  if (!stored) {
    return refusals['not-found'];
  }
  const changed = decide(stored);
  const counted = startsAnew(stored, changed)
    ? await readRowBelowLimit(medplum, changed.outboxes.subscriber)
    : stored.row;
  if (counted === 'overtaken' || 'code' in counted) {
    return counted === 'overtaken' ? counted : refuse([counted]);
  }
  return writeAll(medplum, [changed.entry, rowEntry(stored.row, changed.outboxes)], stored.subscription);
}

/**
 * Changes a Subscription that the caller may see and change, in the expected `version`. If a delivery records progress in
 * the meantime, the change is tried again.
 */
async function changeSubscription(
  medplum: MedplumClient,
  input: unknown,
  caller: Subscriber,
  decide: (stored: SubscriptionOutbox) => Change,
): Promise<Answer> {
  const id = member(input, 'id');
  const wanted = member(input, 'version');
  if (!isId(id)) {
    return refusals['not-found'];
  }
  const seen = await readAsCaller(medplum, id, caller);
  if (seen.resourceType === 'OperationOutcome') {
    return seen;
  }
  if (!(await mayChange(medplum, seen, caller))) {
    return refusals['not-owner'];
  }
  if (wanted !== undefined && seen.meta?.versionId !== wanted) {
    return refuse([outdated]);
  }
  return tryRepeatedly(() => changeOnce(medplum, seen, decide));
}

function outboxAfter({ status }: Subscription, outbox: Outbox): Outbox {
  if (status === 'off') {
    return ended(outbox);
  }
  return status === 'active' ? outbox : restarted(outbox, Date.now());
}

async function updateSubscription(medplum: MedplumClient, input: unknown, caller: Subscriber): Promise<Answer> {
  const submission = await checkSubmission(member(input, 'resource'), String(member(input, 'id')));
  if ('resourceType' in submission) {
    return submission;
  }
  const readable = await readableAppointmentsOf(medplum, caller);
  return changeSubscription(medplum, input, caller, (stored) => {
    const { subscription, outbox, row } = stored;
    const owner = row.outboxes.subscriber;
    const changed = updatedSubscription(submission, subscription, owner, Date.now(), config);
    const next: OutboxUpdate = { stored, outbox: outboxAfter(changed, outbox), subscription: changed };
    const outboxes = updated(row.outboxes, [next]);
    return {
      entry: subscriptionEntry(subscription, changed),
      outboxes: owner === caller.id ? { ...outboxes, readable } : outboxes,
    };
  });
}

function deleteSubscription(medplum: MedplumClient, input: unknown, caller: Subscriber): Promise<Answer> {
  return changeSubscription(medplum, input, caller, ({ subscription, settings, outbox, row }) => ({
    entry: { request: { method: 'DELETE', url: `Subscription/${subscription.id}` } },
    // The message of its websockets is found by the outbox, until it is removed.
    outboxes: settings?.endpoint
      ? withoutOutbox(row.outboxes, subscription.id)
      : withOutbox(row.outboxes, subscription.id, ended(outbox)),
  }));
}

/** The handlers of the interactions. The input may name anything else. */
const interactions: ReadonlyMap<unknown, typeof createSubscription> = new Map([
  ['create', createSubscription],
  ['update', updateSubscription],
  ['delete', deleteSubscription],
]);

const unknownInteraction: Issue = {
  code: 'malformed-request',
  diagnostics: `The interaction must be one of ${[...interactions.keys()].join(', ')}.`,
};

/**
 * Creates, changes and ends topic-based Subscriptions: the one place where they are checked. The outbox is written in the
 * same transaction.
 * @param event - input: `interaction` (create, update, delete), `id` and `version` of the stored Subscription (a version
 *   that it must have), `resource` (as sent); with unchecked content, since every caller of the Bot can send anything;
 *   headers: those of the request, for the caller's credentials
 * @returns the Subscription without its headers, or an OperationOutcome whose id stands for the HTTP status
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/index.html
 */
export async function handler(medplum: MedplumClient, event: BotEvent<unknown>): Promise<Answer> {
  const act = interactions.get(member(event.input, 'interaction'));
  return act ? act(medplum, event.input, subscriberOf(event)) : refuse([unknownInteraction]);
}

const NOT_OVER = 'requested,active,error';

/**
 * How many Subscriptions the Medplum project may have that are not over, those of others and of the service included: all
 * are read when an appointment is deleted, and every ten minutes to find what can be removed.
 */
const MAX_TOTAL = 1_000;

/** Maximum number of outboxes per row, including those of ended Subscriptions, which can be started again. */
const MAX = 1_000;

const exceeded: Issue = {
  code: 'subscriptions-exceeded',
  diagnostics: `A subscriber can have at most ${config.notifications.maxSubscriptions} Subscriptions, and ${MAX} with those that are off: delete or change one.`,
};

const full: Issue = {
  code: 'subscriptions-exceeded',
  diagnostics: `The whole project has the ${MAX_TOTAL} Subscriptions that the service can keep: ask the clinic to remove some, or delete your own.`,
};

/** Finds one Subscription when the project is full. */
function lastSubscriptionQuery(): string {
  const offset = String(MAX_TOTAL - 1);
  return `Subscription?${new URLSearchParams({ status: NOT_OVER, _offset: offset, _count: '1', _fields: 'id' })}`;
}

/** The search for the Subscriptions of a subscriber that are not over, at most as many as it may have. */
function openSubscriptionsQuery(subscriber: string): string {
  const query = new URLSearchParams([
    ['_tag', requestorQuery(subscriber, config)],
    ['status', NOT_OVER],
    ['_count', String(config.notifications.maxSubscriptions)],
    ['_fields', 'id'],
  ]);
  return `Subscription?${query}`;
}

/**
 * Reads the row of a subscriber who may have one more Subscription. The Subscription is added with this version of the
 * row, so that concurrent requests do not exceed the limit.
 * @returns the row of the subscriber; or the reason why the limit is reached; or `overtaken` if this must be called again
 */
export async function readRowBelowLimit(
  medplum: MedplumClient,
  subscriber: string,
): Promise<OutboxRow | Issue | 'overtaken'> {
  const [tasks = [], open = [], last = []] = await readInTransaction(medplum, [
    outboxesSearch([subscriber], config),
    openSubscriptionsQuery(subscriber),
    lastSubscriptionQuery(),
  ]);
  const [row] = rowsIn(tasks);
  if (open.length >= config.notifications.maxSubscriptions || (row?.outboxes.of.size ?? 0) > MAX) {
    return exceeded;
  }
  if (last.length > 0) {
    return full;
  }
  if (!row) {
    await sendTransaction(medplum, [newRowEntry(subscriber)]);
    return 'overtaken';
  }
  return row;
}
