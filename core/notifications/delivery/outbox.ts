import type { Task, TaskOutput } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { concernTokens } from '../events/concern.ts';

/** Code of the Tasks that are outboxes, in the CodeSystem LocalTask. */
export const OUTBOX = 'notify';

/**
 * Where the delivery of a Subscription's events stands:
 * - `ready`: something is to be sent: events, a heartbeat, a handshake; the delivery is being started;
 * - `received`: something is to be sent, by a delivery of the same subscriber that is started or under way;
 * - `in-progress`: a delivery has it, until its lease runs out;
 * - `on-hold`: the last attempt failed, and the time for the next has not come;
 * - `accepted`: everything is delivered;
 * - `failed`: the Subscription is in error; events are still recorded, and wait;
 * - `cancelled`: the Subscription is over.
 */
export type OutboxStatus = 'ready' | 'received' | 'in-progress' | 'on-hold' | 'accepted' | 'failed' | 'cancelled';

/**
 * The outbox of a Subscription: the one row that is changed, with `ifMatch`, in every transaction that writes an event
 * or records a delivery. It is a Task whose `focus` is the Subscription.
 */
export interface Outbox {
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
  /** `on-hold`: not to be tried before then. `in-progress`: a delivery that has not ended by then has died. */
  readonly until?: number | undefined;
  /** `in-progress`: which delivery has it. */
  readonly lease?: string | undefined;
  /** When the delivery was requested again: Medplum runs no Bot for an update without changes. */
  readonly woken?: number | undefined;
  /** What went wrong last. */
  readonly error?: string | undefined;
  /** Criteria of the appointments that the subscriber may read, one of which must be met. */
  readonly readable: readonly string[];
}

/** All statuses of outboxes. */
export const outboxStatuses: readonly OutboxStatus[] = [
  'ready',
  'received',
  'in-progress',
  'on-hold',
  'accepted',
  'failed',
  'cancelled',
];

function entriesOf(outbox: Outbox): TaskOutput[] {
  const moment = (text: string, value: number | undefined): TaskOutput[] =>
    value === undefined ? [] : [{ type: { text }, valueInstant: formatInstant(value) }];
  return [
    { type: { text: 'events' }, valueInteger: outbox.events },
    { type: { text: 'delivered' }, valueInteger: outbox.delivered },
    { type: { text: 'failed attempts' }, valueInteger: outbox.attempts },
    ...moment('listening since', Number.isFinite(outbox.since) ? outbox.since : undefined),
    ...moment('last sent', outbox.sent),
    ...moment(outbox.status === 'on-hold' ? 'next attempt' : 'lease', outbox.until),
    ...(outbox.lease ? [{ type: { text: 'delivery' }, valueString: outbox.lease }] : []),
  ];
}

/** Those settings of a Subscription that decide when its outbox must be looked at again. */
export interface DeliveryTimes {
  /** Seconds between notifications; absent if no heartbeats are wanted. */
  readonly heartbeat?: number | undefined;
  /** When the Subscription ends, in milliseconds since 1970 UTC. */
  readonly end?: number | undefined;
}

/** Whose outbox it is, and what its Subscription asks for. */
export interface OutboxOwner extends DeliveryTimes {
  /** Reference to the Subscription. */
  readonly subscription: string;
  /** Id of the profile that owns the Subscription. */
  readonly subscriber: string;
}

/**
 * When an outbox must be looked at even if nothing has happened to it: at the next attempt or the end of its lease, for a
 * heartbeat, or at the end of its Subscription.
 *
 * @returns milliseconds since 1970 UTC; `undefined` if the clock has nothing to do, or something waits already
 */
export function dueAt({ status, until = 0, sent }: Outbox, { heartbeat, end }: DeliveryTimes): number | undefined {
  const isBeaten = status === 'accepted' && heartbeat !== undefined && sent !== undefined;
  const moments: Readonly<Record<OutboxStatus, readonly (number | undefined)[]>> = {
    ready: [],
    received: [],
    'in-progress': [until],
    'on-hold': [until, end],
    accepted: [isBeaten ? sent + heartbeat * 1000 : undefined, end],
    failed: [end],
    cancelled: [],
  };
  const known = moments[status].filter((moment) => moment !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

/** When the clock must look at an outbox, according to its Task. */
export function dueIn({ executionPeriod }: Task): number | undefined {
  const due = Date.parse(executionPeriod?.start ?? '');
  return Number.isFinite(due) ? due : undefined;
}

/**
 * The Task in which an outbox is kept: `focus` is the Subscription, `group-identifier` finds those of one
 * subscriber, `identifier` those that an appointment concerns, `period` those that are due.
 *
 * @param stored - the Task as it was read, if there is one
 */
export function outboxTask(
  outbox: Outbox,
  { subscription, subscriber, ...times }: OutboxOwner,
  config: ArtefactConfig,
  stored?: Task,
): Task {
  const due = dueAt(outbox, times);
  return {
    resourceType: 'Task',
    ...(stored?.id && { id: stored.id }),
    status: outbox.status,
    intent: 'order',
    identifier: concernTokens(outbox.readable, config),
    groupIdentifier: { system: artefactUri(config, 'LocalRequestor'), value: subscriber },
    code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: OUTBOX }] },
    description: `${outbox.delivered} of ${outbox.events} events delivered`,
    focus: { reference: subscription },
    ...(due !== undefined && { executionPeriod: { start: formatInstant(due) } }),
    ...(outbox.woken !== undefined && { lastModified: formatInstant(outbox.woken) }),
    ...(outbox.error && { statusReason: { text: outbox.error } }),
    input: outbox.readable.map((criteria) => ({ type: { text: 'readable' }, valueString: criteria })),
    output: entriesOf(outbox),
  };
}

/** The value of the search parameter `code` that finds outboxes among the Tasks. */
const outboxCode = (config: ArtefactConfig): string => `${artefactUri(config, 'LocalTask')}|${OUTBOX}`;

/** The same as a part of a query, escaped: `code=…`. */
export const outboxCodeQuery = (config: ArtefactConfig): string => `code=${encodeURIComponent(outboxCode(config))}`;

/**
 * The search for outboxes of one subscriber, the least recently written first.
 *
 * @param count - the most that are wanted
 */
export function subscriberOutboxesQuery(
  subscriber: string,
  statuses: readonly OutboxStatus[],
  count: number,
  config: ArtefactConfig,
): string {
  const query = new URLSearchParams([
    ['code', outboxCode(config)],
    ['status', statuses.join(',')],
    ['group-identifier', `${artefactUri(config, 'LocalRequestor')}|${subscriber}`],
    ['_sort', '_lastUpdated'],
    ['_count', String(count)],
  ]);
  return `Task?${query}`;
}

/** Reads an outbox from its Task; `undefined` if the Task is not an outbox. */
export function outboxOf(task: Task): Outbox | undefined {
  const entry = (text: string) => task.output?.find(({ type }) => type.text === text);
  const moment = (text: string): number | undefined => {
    const instant = entry(text)?.valueInstant;
    return instant === undefined ? undefined : Date.parse(instant);
  };
  const status = outboxStatuses.find((candidate) => candidate === task.status);
  const [events, delivered] = [entry('events')?.valueInteger, entry('delivered')?.valueInteger];
  if (!status || events === undefined || delivered === undefined) {
    return undefined;
  }
  return {
    status,
    events,
    delivered,
    attempts: entry('failed attempts')?.valueInteger ?? 0,
    // Tasks that were written before this entry existed have it as the start of the period.
    since: moment('listening since') ?? Date.parse(task.executionPeriod?.start ?? ''),
    sent: moment('last sent'),
    until: moment('next attempt') ?? moment('lease'),
    lease: entry('delivery')?.valueString,
    woken: task.lastModified === undefined ? undefined : Date.parse(task.lastModified),
    error: task.statusReason?.text,
    readable: (task.input ?? []).flatMap(({ valueString }) => valueString ?? []),
  };
}

/** Whether the outbox of a requested Subscription says that a handshake must still be started. */
export function awaitsHandshake({ status }: Outbox): boolean {
  return status !== 'ready' && status !== 'received' && status !== 'in-progress';
}

/** The outbox of a new Subscription: the handshake is to be sent. */
export function newOutbox(readable: readonly string[], now: number): Outbox {
  return { status: 'ready', events: 0, delivered: 0, attempts: 0, since: now, readable };
}
