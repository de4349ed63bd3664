import type { ParametersParameter, Subscription, Task } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../../core/fhir/artefacts.ts';
import { backport, extensionValues } from '../../../core/fhir/backport.ts';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { isId } from '../../../core/fhir/reference.ts';
import { isObject, isResource } from '../../../core/fhir/resource.ts';
import { ownerOf } from '../../../core/fhir/tags.ts';
import { requestDelivery } from '../../../core/notifications/delivery/delivery-state.ts';
import { type Outbox, outboxesOf } from '../../../core/notifications/delivery/outbox.ts';
import {
  type ChannelType,
  isChannelType,
  publicSubscription,
} from '../../../core/notifications/subscription/channel.ts';
import { taskToken } from '../fhir/tasks.ts';

/** The states of a delivery; those that need staff come first. */
const deliveryStates = ['failed', 'waiting', 'sending', 'unknown', 'delivered', 'ended'] as const;

const topics = ['appointment-update', 'appointment-cancel', 'appointment-offer'] as const;

/** The state of the delivery to a subscriber. */
export type DeliveryState = (typeof deliveryStates)[number];

/** The actions of staff: reactivate a Subscription in error, or send now instead of at the next attempt. */
type DeliveryAction = 'switch-on' | 'send';

/** A Subscription of a portal, and the state of its delivery. All times are milliseconds since 1970 UTC. */
export interface Delivery {
  readonly id: string;
  /** Id of the portal's profile. */
  readonly owner: string;
  readonly topic: (typeof topics)[number] | undefined;
  readonly channel: ChannelType | undefined;
  readonly filters: readonly string[];
  readonly state: DeliveryState;
  readonly action: DeliveryAction | undefined;
  readonly events: number;
  readonly delivered: number;
  readonly attempts: number;
  readonly sent: number | undefined;
  readonly nextAttempt: number | undefined;
  readonly error: string | undefined;
}

/** The Subscriptions of one portal. */
export interface PortalDeliveries {
  readonly owner: string;
  readonly deliveries: readonly Delivery[];
}

/** The searches for Subscriptions to topics of the service, and for their outboxes. */
export function deliverySearches(config: PublicConfig) {
  return [
    { type: 'Subscription', query: [['_profile', artefactUri(config, 'LocalSubscriptionTermin')]] },
    { type: 'Task', query: [['code', taskToken('outboxes', config)]] },
  ] as const;
}

const stateOf: Readonly<Record<Outbox['status'], DeliveryState>> = {
  ready: 'sending',
  'on-hold': 'waiting',
  accepted: 'delivered',
  failed: 'failed',
  cancelled: 'ended',
};

function stateIn(status: Subscription['status'], outbox: Outbox | undefined): DeliveryState {
  if (status === 'off') {
    return 'ended';
  }
  return status === 'error' ? 'failed' : outbox ? stateOf[outbox.status] : 'unknown';
}

/** The page offers only an action that the service would perform now. */
function actionOf(status: Subscription['status'], outbox: Outbox | undefined, now: number): DeliveryAction | undefined {
  const kind = outbox && requestDelivery(status, outbox, now).kind;
  return kind === 'requested' ? 'switch-on' : kind === 'started' ? 'send' : undefined;
}

/** Outboxes that cannot be read are skipped: somebody may have edited their Task. */
function readOutboxes(task: Task): [id: string, outbox: Outbox][] {
  const isReadable = Array.isArray(task.output) && task.output.every((taskOutput) => isObject(taskOutput?.type));
  return isReadable ? [...outboxesOf({ ...task, input: [] }).of] : [];
}

const reasonIn = (...reasons: readonly unknown[]): string | undefined =>
  reasons.find((reason): reason is string => typeof reason === 'string');

const valid = (time: number | undefined): number | undefined =>
  time === undefined || Number.isNaN(time) ? undefined : time;

function deliveryOf(
  subscription: Subscription,
  outbox: Outbox | undefined,
  now: number,
  config: PublicConfig,
): Delivery {
  const { channel } = isObject(subscription.channel) ? publicSubscription(subscription) : { channel: { type: '' } };
  const criteria: unknown = Reflect.get(subscription, '_criteria');
  const { status } = subscription;
  const state = stateIn(status, outbox);
  return {
    id: subscription.id ?? '',
    owner: ownerOf(subscription, config) ?? '',
    topic: topics.find((name) => artefactUri(config, name) === subscription.criteria),
    channel: isChannelType(channel.type) ? channel.type : undefined,
    filters: extensionValues(criteria, backport.filterCriteria).filter((one) => typeof one === 'string'),
    state,
    action: actionOf(status, outbox, now),
    events: outbox?.events ?? 0,
    delivered: outbox?.delivered ?? 0,
    attempts: outbox?.attempts ?? 0,
    sent: valid(outbox?.sent),
    nextAttempt: state === 'waiting' ? valid(outbox?.until) : undefined,
    error: state === 'delivered' || state === 'ended' ? undefined : reasonIn(subscription.error, outbox?.error),
  };
}

const rank = ({ state }: Delivery): number => deliveryStates.indexOf(state);

/** Groups Subscriptions by portal, failed deliveries first. Broken resources are shown as far as they can be read. */
export function deliveriesIn(resources: readonly unknown[], now: number, config: PublicConfig): PortalDeliveries[] {
  const outboxes = new Map(resources.flatMap((one) => (isResource(one, 'Task') ? readOutboxes(one) : [])));
  const portals = new Map<string, Delivery[]>();
  for (const one of resources) {
    if (isResource(one, 'Subscription')) {
      const delivery = deliveryOf(one, outboxes.get(one.id ?? ''), now, config);
      portals.set(delivery.owner, [...(portals.get(delivery.owner) ?? []), delivery]);
    }
  }
  const worst = ({ deliveries }: PortalDeliveries): number => Math.min(...deliveries.map(rank));
  return [...portals]
    .map(([owner, deliveries]) => ({
      owner,
      deliveries: deliveries.toSorted((one, other) => rank(one) - rank(other) || one.id.localeCompare(other.id)),
    }))
    .toSorted((one, other) => worst(one) - worst(other) || one.owner.localeCompare(other.owner));
}

interface ListedEvent {
  readonly number: number;
  /** Milliseconds since 1970 UTC. */
  readonly time: number | undefined;
  /** Id of the appointment, if the reader may see it. */
  readonly appointment: string | undefined;
}

const LISTED = 20;

/** The number of the first event that is listed. */
export const firstListed = (events: number): number => Math.max(1, events - LISTED + 1);

const partsOf = ({ part }: ParametersParameter): readonly ParametersParameter[] => (Array.isArray(part) ? part : []);

function eventIn(parameter: ParametersParameter): ListedEvent | undefined {
  const find = (name: string) => partsOf(parameter).find((part) => part.name === name);
  const number = Number(find('event-number')?.valueString);
  const id = find('focus')?.valueReference?.reference?.split('/').at(-1);
  return Number.isSafeInteger(number) && number > 0
    ? { number, time: parseInstant(find('timestamp')?.valueInstant), appointment: isId(id) ? id : undefined }
    : undefined;
}

/** The events in a response of `$events`, the newest first. */
export function eventsIn(bundle: unknown): ListedEvent[] {
  const entries = isResource(bundle, 'Bundle') && Array.isArray(bundle.entry) ? bundle.entry : [];
  const [first]: unknown[] = entries.map((entry) => entry?.resource);
  const parameters = isResource(first, 'Parameters') && Array.isArray(first.parameter) ? first.parameter : [];
  return parameters
    .filter((parameter) => isObject(parameter) && parameter.name === 'notification-event')
    .flatMap((parameter) => eventIn(parameter) ?? [])
    .toSorted((listedEvent, other) => other.number - listedEvent.number);
}
