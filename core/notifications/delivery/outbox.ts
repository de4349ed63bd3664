import type { Task } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { isObject } from '../../fhir/resource.ts';
import { moment, momentIn, newRow, rowSearch } from '../../rows/row.ts';
import { concernTokens } from '../events/concern.ts';

/**
 * The state of a Subscription's delivery:
 * - `ready`: an event, a heartbeat or a handshake is to be sent;
 * - `on-hold`: the last attempt failed, and the next one is not due yet;
 * - `accepted`: everything is delivered;
 * - `failed`: the Subscription is in error; events are still recorded, and wait;
 * - `cancelled`: the Subscription is off.
 */
const outboxStatuses = ['ready', 'on-hold', 'accepted', 'failed', 'cancelled'] as const;

export type OutboxStatus = (typeof outboxStatuses)[number];

/** The settings of a Subscription that determine when its outbox is due. */
interface DeliveryTimes {
  /** Seconds between notifications; absent without heartbeats. */
  readonly heartbeat?: number | undefined;
  readonly end?: number | undefined;
}

/** The outbox of one Subscription. Its events have the numbers 1 to `events`. */
export interface Outbox extends DeliveryTimes {
  readonly status: OutboxStatus;
  readonly events: number;
  readonly delivered: number;
  /** Failed attempts to deliver the next event. */
  readonly attempts: number;
  /** Changes after this moment are events; milliseconds since 1970 UTC, like all moments here. */
  readonly since: number;
  readonly sent?: number | undefined;
  /** `on-hold`: no attempt before then. */
  readonly until?: number | undefined;
  readonly error?: string | undefined;
}

/** The delivery that has claimed the outboxes of a subscriber. If it has not ended by `until`, it has crashed. */
interface Lease {
  readonly id: string;
  readonly until: number;
}

/**
 * The outboxes of one subscriber. They are one row, which is changed with `ifMatch` in every transaction that writes
 * events, records deliveries or adds a Subscription. A change of an appointment thus writes this row and one event,
 * however many Subscriptions there are.
 */
export interface Outboxes {
  readonly subscriber: string;
  /** Criteria of the appointments that the subscriber may read; one of them must be met. */
  readonly readable: readonly string[];
  readonly of: ReadonlyMap<string, Outbox>;
  readonly lease?: Lease | undefined;
  /** The last write that had to start a Bot. Without a new value Medplum would see no change and run none. */
  readonly woken?: number | undefined;
}

export const noOutboxes = (subscriber: string): Outboxes => ({ subscriber, readable: [], of: new Map() });

export const withOutbox = (outboxes: Outboxes, id: string, outbox: Outbox): Outboxes => ({
  ...outboxes,
  of: new Map([...outboxes.of, [id, outbox]]),
});

export const withoutOutbox = (outboxes: Outboxes, id: string): Outboxes => ({
  ...outboxes,
  of: new Map([...outboxes.of].filter(([known]) => known !== id)),
});

/** The moment at which an outbox without new events is due; `undefined` if never, or if something waits already. */
export function dueAt({ status, until = 0, sent, heartbeat, end }: Outbox): number | undefined {
  const hasHeartbeat = heartbeat !== undefined && sent !== undefined;
  const moments: Readonly<Record<OutboxStatus, readonly (number | undefined)[]>> = {
    ready: [],
    'on-hold': [until, end],
    accepted: [hasHeartbeat ? sent + heartbeat * 1000 : undefined, end],
    failed: [end],
    cancelled: [],
  };
  return earliest(moments[status]);
}

function earliest(moments: readonly (number | undefined)[]): number | undefined {
  const known = moments.filter((moment) => moment !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

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

/** Reads an outbox from JSON; `undefined` without a status or a number of events. */
function parseOutbox(text: string | undefined): Outbox | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
  const fields = isObject(parsed) ? parsed : {};
  const count = (name: string): number | undefined => (typeof fields[name] === 'number' ? fields[name] : undefined);
  const moment = (name: string): number | undefined =>
    typeof fields[name] === 'string' ? Date.parse(fields[name]) : undefined;
  const status = outboxStatuses.find((one) => one === fields.status);
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
    error: typeof fields.error === 'string' ? fields.error : undefined,
  };
}

/**
 * The Task that stores the outboxes of a subscriber. `group-identifier` is the subscriber, `identifier` finds the
 * outboxes that an appointment concerns, `period` finds due outboxes. Each output is the outbox of one Subscription.
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
    const outbox = kind === 'Subscription' ? parseOutbox(valueString) : undefined;
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

/** The search for the outboxes of some subscribers, by the ids of their profiles. */
export function outboxesSearch(subscribers: readonly string[], config: PublicConfig): string {
  const system = artefactUri(config, 'LocalRequestor');
  const owners = subscribers.map((one) => `${system}|${one}`).join(',');
  return rowSearch(['outboxes'], { 'group-identifier': owners }, config);
}

/** The outbox of a new Subscription, which starts with a handshake. */
export const newOutbox = (now: number, { heartbeat, end }: DeliveryTimes = {}): Outbox => ({
  status: 'ready',
  events: 0,
  delivered: 0,
  attempts: 0,
  since: now,
  heartbeat,
  end,
});
