import type { Subscription, Task } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../config/config.ts';
import { parseInstant } from '../../fhir/instant.ts';
import { idIn } from '../../fhir/reference.ts';
import { FORMER_STATUS } from '../../fhir/reserved.ts';
import { isSameToken } from '../../fhir/resource.ts';
import { momentIn, valueIn } from '../../rows/row.ts';
import type { Outbox, OutboxStatus } from './outbox.ts';

function search(codes: readonly string[], status: [name: string, value: string], config: PublicConfig): string {
  const code = codes.map((one) => `${artefactUri(config, 'LocalTask')}|${one}`).join(',');
  return `Task?${new URLSearchParams([['code', code], status])}`;
}

/**
 * The searches for what earlier versions kept: outboxes, one for each Subscription; and what no longer says anything:
 * outboxes that were converted, counts of Subscriptions, and marks of portals near a limit.
 */
export const formerQueries = (config: PublicConfig): [outboxes: string, converted: string, others: string] => [
  search(['notify'], ['status:not', 'entered-in-error'], config),
  search(['notify'], ['status', 'entered-in-error'], config),
  search(['subscriber', 'near-limit'], ['status', 'in-progress,completed'], config),
];

/** The outbox of one Subscription as an earlier version kept it. */
interface FormerOutbox {
  readonly subscription: string;
  readonly subscriber: string;
  readonly readable: readonly string[];
  readonly outbox: Outbox;
}

const statuses: Readonly<Record<string, OutboxStatus>> = {
  'on-hold': 'on-hold',
  accepted: 'accepted',
  failed: 'failed',
  cancelled: 'cancelled',
};

/** Reads an outbox as an earlier version kept it; what was under way begins again. */
export function formerOutbox(task: Task): FormerOutbox | undefined {
  const { output } = task;
  const count = (name: string): number | undefined => valueIn(output, name)?.valueInteger;
  const subscription = idIn(task.focus, 'Subscription');
  const subscriber = task.groupIdentifier?.value;
  const [events, delivered] = [count('events'), count('delivered')];
  if (!subscription || !subscriber || events === undefined || delivered === undefined) {
    return undefined;
  }
  const outbox: Outbox = {
    status: statuses[task.status ?? ''] ?? 'ready',
    events,
    delivered,
    attempts: count('failed attempts') ?? 0,
    since: momentIn(output, 'listening since') ?? parseInstant(task.executionPeriod?.start) ?? 0,
    sent: momentIn(output, 'last sent'),
    until: momentIn(output, 'next attempt'),
    error: task.statusReason?.text,
  };
  const readable = (task.input ?? []).flatMap(({ valueString }) => valueString ?? []);
  return { subscription, subscriber, readable, outbox };
}

/** The search for Subscriptions with the tag of earlier versions, which stored those that they delivered to as requested. */
export const formerStatusQuery = `Subscription?${new URLSearchParams({ _tag: `${FORMER_STATUS}|active` })}`;

/** A Subscription as it is stored now: `active` where an earlier version had stored `requested` with a tag. */
export function withTrueStatus<T extends Subscription>(stored: T): T {
  const { tag, ...meta } = stored.meta ?? {};
  const kept = Array.isArray(tag) ? tag.filter((one) => !isSameToken(one?.system, FORMER_STATUS)) : [];
  if (!Array.isArray(tag) || kept.length === tag.length) {
    return stored;
  }
  const status = stored.status === 'requested' ? 'active' : stored.status;
  return { ...stored, status, meta: { ...meta, ...(kept.length > 0 && { tag: kept }) } };
}
