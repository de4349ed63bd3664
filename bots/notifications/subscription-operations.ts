import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Bundle, BundleLink, OperationOutcome, Parameters, Subscription } from '@medplum/fhirtypes';
import type { Issue } from '../../core/fhir/outcome/outcome.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { ownerOf } from '../../core/fhir/tags.ts';
import { requestDelivery, withStatus } from '../../core/notifications/delivery/delivery-state.ts';
import { messageSubscription } from '../../core/notifications/delivery/message.ts';
import {
  type BundleContext,
  type EventContent,
  notification,
  type StatusReport,
  type StatusType,
  statusBundle,
} from '../../core/notifications/events/bundle.ts';
import { type Event, missingEvents } from '../../core/notifications/events/event.ts';
import {
  type Content,
  contents,
  readSubscriptionOperation,
  type SubscriptionOperation,
} from '../../core/notifications/subscription/subscription-parameters.ts';
import { config } from '../lib/config.ts';
import { type BotResponse, contestedAttempts, get, newId, retryOvertaken, sendBundle } from '../lib/medplum.ts';
import { readContents, readEvents } from '../lib/notifications/event-store.ts';
import {
  readOutbox,
  readSubscribers,
  type SubscriptionOutbox,
  writeOutbox,
} from '../lib/notifications/outbox-store.ts';
import {
  isStaff,
  mayChange,
  readAsCaller,
  refusals,
  refuse,
  type Subscriber,
  searchAsCaller,
  subscriberOf,
  unavailable,
} from '../lib/notifications/subscriber.ts';

const MAX_EVENTS = 1000;

/** The characters of appointments after which a response tells of no further event. */
const MAX_CHARACTERS = 1_000_000;

/** How many events are read together at first, and at most. */
const TOGETHER = { first: 20, most: 200 };

const context = (): BundleContext => ({
  baseUrl: config.baseUrl,
  now: Date.now(),
  newId,
});

function reportOf({ subscription, outbox }: SubscriptionOutbox, type: StatusType): StatusReport {
  const { id, criteria, status = 'requested', error } = subscription;
  return { id, status, topic: criteria ?? '', type, events: outbox.events, error };
}

/** Reads the outboxes of Subscriptions; those without one are left out. */
async function outboxesOf(medplum: MedplumClient, seen: readonly Subscription[]): Promise<SubscriptionOutbox[]> {
  const [only, ...others] = seen;
  if (others.length === 0) {
    return only ? [await readOutbox(medplum, only)].flatMap((outbox) => outbox ?? []) : [];
  }
  const owners = new Set(seen.flatMap((subscription) => ownerOf(subscription, config) ?? []));
  const ids = new Set(seen.map(({ id }) => id));
  const outboxes = (await readSubscribers(medplum, [...owners])).flatMap(({ subscriptions }) => subscriptions);
  return outboxes.filter(({ subscription }) => ids.has(subscription.id));
}

/** Carries out `$status`, for one Subscription or for all that the caller may see. */
async function queryStatus(medplum: MedplumClient, input: SubscriptionOperation, caller: Subscriber) {
  const { id, ids = [], statuses = [] } = input;
  const seen = await (id === undefined ? searchAsCaller(medplum, caller) : readAsCaller(medplum, id, caller));
  if ('issue' in seen) {
    return seen;
  }
  const wanted = [seen]
    .flat()
    .filter(
      (subscription) =>
        (ids.length === 0 || ids.includes(subscription.id ?? '')) &&
        (statuses.length === 0 || statuses.includes(subscription.status ?? '')),
    );
  const found = await outboxesOf(medplum, wanted);
  return statusBundle(
    found.map((stored) => reportOf(stored, 'query-status')),
    context(),
  );
}

const lengthOf = ({ appointment }: EventContent): number => (appointment ? JSON.stringify(appointment).length : 0);

/**
 * Reads as many events as one response has room for, with the appointments that the subscriber may read. Large ones
 * are read in smaller chunks.
 */
async function readPage(
  medplum: MedplumClient,
  events: readonly Event[],
  content: Content,
  readable: readonly string[],
  authorization: string | undefined,
): Promise<EventContent[]> {
  if (content === 'empty') {
    return events.map((event) => ({ event }));
  }
  const notified: EventContent[] = [];
  let [size, together] = [0, TOGETHER.first];
  while (notified.length < events.length) {
    const next = events.slice(notified.length, notified.length + together);
    const appointments = [...new Set(next.map(({ appointment }) => appointment))];
    const search = `Appointment?_id=${appointments.join(',')}&_count=1000&_fields=id`;
    for (const eventContent of await readContents(medplum, next, [search], readable, authorization)) {
      const isFull =
        content === 'full-resource' && notified.length > 0 && size + lengthOf(eventContent) > MAX_CHARACTERS;
      if (isFull) {
        return notified;
      }
      size += lengthOf(eventContent);
      notified.push(eventContent);
    }
    together = Math.max(1, Math.min(TOGETHER.most, Math.floor((MAX_CHARACTERS * notified.length) / Math.max(1, size))));
  }
  return notified;
}

/** The address of the events that a response has no room for. */
function nextEvents(id: string, since: number, until: number, content: Content): BundleLink {
  const query = `eventsSinceNumber=${since}&eventsUntilNumber=${until}&content=${content}`;
  return { relation: 'next', url: `${config.baseUrl}/Subscription/${id}/$events?${query}` };
}

/** Carries out `$events`: a page of events, read with the current rights of the caller, and a link to the next page. */
async function queryEvents(medplum: MedplumClient, input: SubscriptionOperation, caller: Subscriber) {
  const { id = '', since = 1, until = Number.MAX_SAFE_INTEGER } = input;
  const seen = await readAsCaller(medplum, id, caller);
  if (seen.resourceType === 'OperationOutcome') {
    return seen;
  }
  const stored = await readOutbox(medplum, seen);
  if (!stored) {
    return refusals['not-found'];
  }
  const from = Math.max(1, since);
  const last = Math.min(stored.outbox.events, until);
  const pageEnd = Math.min(last, from + MAX_EVENTS - 1);
  const wanted = Array.from({ length: Math.max(0, pageEnd - from + 1) }, (_, index) => [id, from + index] as const);
  const events = (await readEvents(medplum, wanted)).get(id) ?? [];
  const ownContent: Content = stored.settings?.content ?? 'empty';
  const content = contents.find((candidate) => candidate === input.content) ?? ownContent;
  const notified = await readPage(medplum, events, content, stored.row.outboxes.readable, caller.authorization);
  const lastNumber = notified.length < events.length ? (notified.at(-1)?.event.number ?? pageEnd) : pageEnd;
  const missing = missingEvents(
    from,
    lastNumber,
    notified.map(({ event }) => event.number),
  );
  const bundle = notification({ ...reportOf(stored, 'query-event'), missing }, notified, content, context());
  return lastNumber < last ? { ...bundle, link: [nextEvents(id, lastNumber + 1, last, content)] } : bundle;
}

const noWebsocket: Issue = {
  code: 'channel-unsupported',
  diagnostics:
    'This Subscription has the channel type rest-hook; $get-ws-binding-token needs the channel type websocket.',
  expression: 'Subscription.channel.type',
};

const notActive: Issue = {
  code: 'profile-violation',
  diagnostics: 'The Subscription has ended or is in error; no notifications would be sent.',
  expression: 'Subscription.status',
};

/** Carries out `$get-ws-binding-token` for those who may change the Subscription, while it is active or requested. */
async function issueBinding(medplum: MedplumClient, { id = '' }: SubscriptionOperation, caller: Subscriber) {
  const seen = await readAsCaller(medplum, id, caller);
  if (seen.resourceType === 'OperationOutcome') {
    return seen;
  }
  const stored = await readOutbox(medplum, seen);
  if (!stored) {
    return refusals['not-found'];
  }
  const { settings, subscription } = stored;
  if (!(await mayChange(medplum, seen, caller))) {
    return refusals['not-owner'];
  }
  if (!settings || settings.endpoint) {
    return refuse([noWebsocket]);
  }
  const isLive = subscription.status === 'active' || subscription.status === 'requested';
  const handshake = notification(reportOf(stored, 'handshake'), [], settings.content, context());
  return isLive ? createBindingToken(medplum, id, handshake, caller) : refuse([notActive]);
}

const ended: Issue = {
  code: 'profile-violation',
  diagnostics: 'The Subscription has ended; only its subscriber can start it anew.',
  expression: 'Subscription.status',
};

const contested: Issue = {
  code: 'version-conflict',
  diagnostics: 'The Subscription kept changing at the same moment: try again.',
};

/** Starts the delivery of what waits, unless it is under way: first the handshake, if the Subscription was in error. */
async function startDelivery(medplum: MedplumClient, seen: Subscription): Promise<Answer | 'overtaken'> {
  const stored = await readOutbox(medplum, seen);
  if (!stored) {
    return refusals['not-found'];
  }
  const { subscription } = stored;
  const request = requestDelivery(subscription.status, stored.outbox, Date.now());
  if (request.kind === 'ended') {
    return refuse([ended]);
  }
  const written =
    request.kind === 'unchanged'
      ? stored
      : await writeOutbox(medplum, {
          stored,
          outbox: request.outbox,
          ...(request.kind === 'requested' && { subscription: withStatus(subscription, 'requested') }),
        });
  return written === 'overtaken' ? written : statusBundle([reportOf(written, 'query-status')], context());
}

/** Delivers what waits, at the request of staff. Two requests at the same moment start one delivery. */
async function deliverNow(medplum: MedplumClient, { id = '' }: SubscriptionOperation, caller: Subscriber) {
  const seen = await readAsCaller(medplum, id, caller);
  if (seen.resourceType === 'OperationOutcome') {
    return seen;
  }
  if (!(await isStaff(medplum, caller))) {
    return refusals['not-staff'];
  }
  const answer = await retryOvertaken(
    () => startDelivery(medplum, seen),
    (one) => one === 'overtaken',
    contestedAttempts,
  );
  return answer === 'overtaken' ? refuse([contested]) : answer;
}

type Answer = Bundle | Parameters | OperationOutcome;

const operations: Readonly<
  Record<
    SubscriptionOperation['operation'],
    (medplum: MedplumClient, input: SubscriptionOperation, caller: Subscriber) => Promise<Answer>
  >
> = { status: queryStatus, events: queryEvents, binding: issueBinding, deliver: deliverNow };

/**
 * Answers `$status`, `$events`, `$get-ws-binding-token` and `$deliver` to callers who may see the Subscription.
 * @param event - input: as `readSubscriptionOperation` reads it; headers: those of the request, for the caller's
 *   credentials
 * @returns a Bundle, Parameters (`bindingOf`), or an OperationOutcome whose id stands for the HTTP status
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/OperationDefinition-backport-subscription-events.html
 */
export async function handler(medplum: MedplumClient, event: BotEvent<unknown>): Promise<Answer> {
  const input = readSubscriptionOperation(event.input);
  return 'operation' in input ? operations[input.operation](medplum, input, subscriberOf(event)) : refuse([input]);
}

/** Whatever Medplum's reason, the subscriber can only use another channel. */
function unsupported(outcome: OperationOutcome): Issue {
  const [reason] = outcome.issue;
  const diagnostics = `Medplum did not issue a websocket token: ${reason?.details?.text ?? reason?.diagnostics ?? 'no reason given'}.`;
  return { code: 'channel-unsupported', diagnostics, expression: 'Subscription.channel.type' };
}

function askForToken(
  medplum: MedplumClient,
  id: string,
  { authorization }: Subscriber,
): Promise<BotResponse | undefined> {
  const url = medplum.fhirUrl('Subscription', id, '$get-ws-binding-token').toString();
  return get(medplum, url, { authorization });
}

/**
 * Lets the caller bind a websocket of Medplum to the messages of a Subscription. Medplum keeps the binding for an hour,
 * and checks with each message whether the caller may still read it.
 * @param handshake - the notification that the websocket is sent once it is bound
 * @returns Parameters: `token` and `expiration` as Medplum gave them, `message-subscription` (the id of the Subscription
 *   that Medplum keeps), and `handshake`
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/OperationDefinition-backport-subscription-get-ws-binding-token.html
 */
export async function createBindingToken(
  medplum: MedplumClient,
  subscriptionId: string,
  handshake: Bundle,
  caller: Subscriber,
): Promise<Parameters | OperationOutcome> {
  const resource = messageSubscription(subscriptionId, caller.id, config);
  const entry = [{ request: { method: 'POST' as const, url: 'Subscription' }, resource }];
  const made = await sendBundle(medplum, { resourceType: 'Bundle', type: 'batch', entry });
  const created: unknown = made.kind === 'done' ? made.bundle.entry?.[0]?.resource : undefined;
  if (!isResource(created, 'Subscription')) {
    return refuse([unavailable]);
  }
  const response = await askForToken(medplum, created.id ?? '', caller);
  const body = response?.body;
  if (response?.status === 400 && isResource(body, 'OperationOutcome')) {
    return refuse([unsupported(body)]);
  }
  if (!isResource(body, 'Parameters')) {
    return refuse([unavailable]);
  }
  return {
    resourceType: 'Parameters',
    parameter: [
      ...(body.parameter ?? []).filter(({ name }) => name === 'token' || name === 'expiration'),
      { name: 'message-subscription', valueString: created.id },
      { name: 'handshake', resource: handshake },
    ],
  };
}
