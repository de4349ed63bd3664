import type { Task } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { idIn } from '../../fhir/reference/reference.ts';
import type { Outbox, OutboxStatus } from './outbox.ts';

const search = (config: ArtefactConfig, code: string, status: [name: string, value: string], count: number): string =>
  `Task?${new URLSearchParams([['code', `${artefactUri(config, 'LocalTask')}|${code}`], status, ['_count', String(count)]])}`;

/**
 * The searches for what earlier versions kept: outboxes, one for each Subscription; and what no longer says anything,
 * outboxes that were converted and counts of Subscriptions.
 */
export const formerQueries = (
  count: number,
  config: ArtefactConfig,
): [outboxes: string, converted: string, counts: string] => [
  search(config, 'notify', ['status:not', 'entered-in-error'], count),
  search(config, 'notify', ['status', 'entered-in-error'], count),
  search(config, 'subscriber', ['status', 'in-progress'], count),
];

/** The outbox of one Subscription as an earlier version kept it. */
export interface FormerOutbox {
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
  const entry = (text: string) => task.output?.find(({ type }) => type.text === text);
  const moment = (text: string): number | undefined => {
    const instant = entry(text)?.valueInstant;
    return instant === undefined ? undefined : Date.parse(instant);
  };
  const subscription = idIn(task.focus, 'Subscription');
  const subscriber = task.groupIdentifier?.value;
  const [events, delivered] = [entry('events')?.valueInteger, entry('delivered')?.valueInteger];
  if (!subscription || !subscriber || events === undefined || delivered === undefined) {
    return undefined;
  }
  const outbox: Outbox = {
    status: statuses[task.status ?? ''] ?? 'ready',
    events,
    delivered,
    attempts: entry('failed attempts')?.valueInteger ?? 0,
    since: moment('listening since') ?? (Date.parse(task.executionPeriod?.start ?? '') || 0),
    sent: moment('last sent'),
    until: moment('next attempt'),
    error: task.statusReason?.text,
  };
  const readable = (task.input ?? []).flatMap(({ valueString }) => valueString ?? []);
  return { subscription, subscriber, readable, outbox };
}
