import type { Task } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { isObject } from '../../fhir/resource.ts';
import { moment, momentIn, newRow, rowSearch } from '../../rows/row.ts';
import { concernTokens } from '../events/concern.ts';

/**
 * Where the delivery of a Subscription's events stands:
 * - `ready`: something is to be sent: events, a heartbeat, a handshake;
 * - `on-hold`: the last attempt failed, and the time for the next has not come;
 * - `accepted`: everything is delivered;
 * - `failed`: the Subscription is in error; events are still recorded, and wait;
 * - `cancelled`: the Subscription is over.
 */
const outboxStatuses = ['ready', 'on-hold', 'accepted', 'failed', 'cancelled'] as const;

/** Where the delivery of a Subscription's events stands. */
export type OutboxStatus = (typeof outboxStatuses)[number];

/** Those settings of a Subscription that decide when its outbox must be looked at again. */
interface DeliveryTimes {
  /** Seconds between notifications; absent if no heartbeats are wanted. */
  readonly heartbeat?: number | undefined;
  /** When the Subscription ends, in milliseconds since 1970 UTC. */
  readonly end?: number | undefined;
}

/** The outbox of one Subscription: its events are the numbers from 1 to `events`. */
export interface Outbox extends DeliveryTimes {
  readonly status: OutboxStatus;
  /** Number of the last event. */
  readonly events: number;
  /** Number of the last event that was delivered. */
  readonly delivered: number;
  /** How often the delivery of the next event has failed. */
  readonly attempts: number;
  /** Changes after this moment are events; milliseconds since 1970 UTC, like all moments here. */
  readonly since: number;
  /** When the subscriber was last sent anything. */
  readonly sent?: number | undefined;
  /** `on-hold`: not to be tried before then. */
  readonly until?: number | undefined;
  /** What went wrong last. */
  readonly error?: string | undefined;
}

/** Which delivery has the outboxes of a subscriber, and until when; a delivery that has not ended by then has died. */
interface Lease {
  readonly id: string;
  readonly until: number;
}

/**
 * The outboxes of one subscriber: the one row that is changed, with `ifMatch`, in every transaction that writes events of
 * any of its Subscriptions, records deliveries, or adds a Subscription. However many Subscriptions it has, a change of an
 * appointment writes this row and one event.
 */
export interface Outboxes {
  /** Id of the profile that owns the Subscriptions. */
  readonly subscriber: string;
  /** Criteria of the appointments that the subscriber may read, one of which must be met. */
  readonly readable: readonly string[];
  /** By the id of the Subscription. */
  readonly of: ReadonlyMap<string, Outbox>;
  readonly lease?: Lease | undefined;
  /** When something was last written that may leave everything else as it was: Medplum runs no Bot for that. */
  readonly woken?: number | undefined;
}

/** The outboxes of a subscriber that has no Subscription yet. */
export const noOutboxes = (subscriber: string): Outboxes => ({ subscriber, readable: [], of: new Map() });

/** The outboxes with that of one Subscription changed. */
export const withOutbox = (outboxes: Outboxes, id: string, outbox: Outbox): Outboxes => ({
  ...outboxes,
  of: new Map([...outboxes.of, [id, outbox]]),
});

/** The outboxes without that of one Subscription. */
export const withoutOutbox = (outboxes: Outboxes, id: string): Outboxes => ({
  ...outboxes,
  of: new Map([...outboxes.of].filter(([known]) => known !== id)),
});

/**
 * When an outbox must be looked at even if nothing has happened to it: at the next attempt, for a heartbeat, or at the end
 * of its Subscription.
 *
 * @returns milliseconds since 1970 UTC; `undefined` if the clock has nothing to do, or something waits already
 */
export function dueAt({ status, until = 0, sent, heartbeat, end }: Outbox): number | undefined {
  const isBeaten = heartbeat !== undefined && sent !== undefined;
  const moments: Readonly<Record<OutboxStatus, readonly (number | undefined)[]>> = {
    ready: [],
    'on-hold': [until, end],
    accepted: [isBeaten ? sent + heartbeat * 1000 : undefined, end],
    failed: [end],
    cancelled: [],
  };
  return earliest(moments[status]);
}

function earliest(moments: readonly (number | undefined)[]): number | undefined {
  const known = moments.filter((moment) => moment !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

/** When the clock must look at the outboxes of a subscriber. */
function rowDueAt({ of, lease }: Outboxes): number | undefined {
  const outboxes = [...of.values()];
  if (lease) {
    return lease.until;
  }
  return outboxes.some(({ status }) => status === 'ready') ? undefined : earliest(outboxes.map(dueAt));
}

function statusOf({ of, lease }: Outboxes): NonNullable<Task['status']> {
  const known = new Set([...of.values()].map(({ status }) => status));
  return lease ? 'in-progress' : (outboxStatuses.find((status) => known.has(status)) ?? 'cancelled');
}

const LEASE = 'delivery until';

const instantOf = (value: number | undefined): string | undefined =>
  value !== undefined && Number.isFinite(value) ? formatInstant(value) : undefined;

const outboxText = ({ since, sent, until, end, ...others }: Outbox): string =>
  JSON.stringify({
    ...others,
    since: instantOf(since),
    sent: instantOf(sent),
    until: instantOf(until),
    end: instantOf(end),
  });

function outboxIn(text: string | undefined): Outbox | undefined {
  let read: unknown;
  try {
    read = JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
  const from = isObject(read) ? read : {};
  const count = (name: string): number | undefined => (typeof from[name] === 'number' ? from[name] : undefined);
  const moment = (name: string): number | undefined =>
    typeof from[name] === 'string' ? Date.parse(from[name]) : undefined;
  const status = outboxStatuses.find((one) => one === from.status);
  const [events, delivered] = [count('events'), count('delivered')];
  if (!status || events === undefined || delivered === undefined) {
    return undefined;
  }
  return {
    status,
    events,
    delivered,
    attempts: count('attempts') ?? 0,
    since: moment('since') ?? Number.NEGATIVE_INFINITY,
    sent: moment('sent'),
    until: moment('until'),
    heartbeat: count('heartbeat'),
    end: moment('end'),
    error: typeof from.error === 'string' ? from.error : undefined,
  };
}

/**
 * The Task in which the outboxes of a subscriber are kept: `group-identifier` is the subscriber, `identifier` finds those
 * that an appointment concerns, `period` those that are due; each output is the outbox of one Subscription.
 *
 * @param stored - the Task as it was read, if there is one
 */
export function outboxesTask(outboxes: Outboxes, config: PublicConfig, stored?: Task): Task {
  const { subscriber, readable, of, lease, woken } = outboxes;
  const due = rowDueAt(outboxes);
  const all = [...of.values()];
  const sum = (name: 'events' | 'delivered'): number => all.reduce((total, outbox) => total + outbox[name], 0);
  const more: Partial<Task> = {
    ...(lease && { businessStatus: { text: lease.id } }),
    identifier: concernTokens(readable, config),
    groupIdentifier: { system: artefactUri(config, 'LocalRequestor'), value: subscriber },
    description: `${of.size} Subscriptions, ${sum('delivered')} of ${sum('events')} events delivered`,
    ...(due !== undefined && { executionPeriod: { start: formatInstant(due) } }),
    ...(woken !== undefined && { lastModified: formatInstant(woken) }),
    input: readable.map((criteria) => ({ type: { text: 'readable' }, valueString: criteria })),
    output: [
      ...moment(LEASE, lease?.until),
      ...[...of].map(([id, outbox]) => ({
        type: { text: id.startsWith('urn:') ? id : `Subscription/${id}` },
        valueString: outboxText(outbox),
      })),
    ],
  };
  return newRow('outboxes', { status: statusOf(outboxes), ...more }, config, stored);
}

/** Reads the outboxes of a subscriber from their Task. */
export function outboxesOf({ groupIdentifier, businessStatus, input = [], output = [], lastModified }: Task): Outboxes {
  const until = momentIn(output, LEASE);
  const entries = output.flatMap(({ type, valueString }): [string, Outbox][] => {
    const [kind, id] = type.text?.split('/') ?? [];
    const outbox = kind === 'Subscription' ? outboxIn(valueString) : undefined;
    return id && outbox ? [[id, outbox]] : [];
  });
  return {
    subscriber: groupIdentifier?.value ?? '',
    readable: input.flatMap(({ valueString }) => valueString ?? []),
    of: new Map(entries),
    lease: until === undefined ? undefined : { id: businessStatus?.text ?? '', until },
    woken: parseInstant(lastModified),
  };
}

/**
 * The search for the outboxes of some subscribers.
 *
 * @param subscribers - ids of their profiles
 */
export function outboxesSearch(subscribers: readonly string[], config: PublicConfig): string {
  const system = artefactUri(config, 'LocalRequestor');
  const owners = subscribers.map((one) => `${system}|${one}`).join(',');
  return rowSearch(['outboxes'], { 'group-identifier': owners }, config);
}

/** The outbox of a new Subscription: the handshake is to be sent. */
export const newOutbox = (now: number, { heartbeat, end }: DeliveryTimes = {}): Outbox => ({
  status: 'ready',
  events: 0,
  delivered: 0,
  attempts: 0,
  since: now,
  heartbeat,
  end,
});
