import type { MedplumClient } from '@medplum/core';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { requestorQuery } from '../../../core/fhir/tags.ts';
import { outboxesSearch } from '../../../core/notifications/delivery/outbox.ts';
import { config } from '../config.ts';
import { sendTransaction } from '../medplum.ts';
import { readInTransaction } from '../read.ts';
import { newRowEntry, type OutboxRow, rowsIn } from './outbox-store.ts';

const NOT_OVER = 'requested,active,error';

/**
 * How many Subscriptions the Medplum project may have that are not over, those of others and of the service included: all
 * are read when an appointment is deleted, and every ten minutes to find what can be removed.
 */
const MAX_TOTAL = 1_000;

/** The most Subscriptions whose outboxes one row keeps, those included that are over and can be started anew. */
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
