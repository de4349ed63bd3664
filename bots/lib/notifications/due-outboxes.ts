import type { MedplumClient } from '@medplum/core';
import type { Resource, Task } from '@medplum/fhirtypes';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { ownerOf } from '../../../core/fhir/tags.ts';
import { checkpointSearch, OVERLAP, settledAt } from '../../../core/notifications/delivery/checkpoint.ts';
import { OVERDUE } from '../../../core/notifications/delivery/delivery-state.ts';
import { rowSearch } from '../../../core/rows/row.ts';
import { config } from '../config.ts';
import { ofType, readAll, readInTransaction } from '../read.ts';
import { OPEN, readSubscribers, type SubscriberState } from './outbox-store.ts';

/** What a run started by the clock begins with. */
interface DueOutboxes {
  /** How far the events of all changes are recorded. */
  readonly checkpoint: Task | undefined;
  /** Whether there is anyone to tell about appointments. */
  readonly isListened: boolean;
  /** The subscribers for whom something may be due, or who have a Subscription that was changed. */
  readonly subscribers: readonly SubscriberState[];
}

/**
 * The searches for the outboxes that are due by themselves, and for Subscriptions whose outboxes may have to follow them.
 */
function searches(checkpoint: Task | undefined, now: number): string[] {
  const rows = (narrowed: Readonly<Record<string, string>>): string =>
    rowSearch(['outboxes'], { ...narrowed, _fields: 'groupIdentifier' }, config);
  const settled = settledAt(checkpoint);
  const changed = settled === undefined ? '' : `_lastUpdated=ge${formatInstant(settled - OVERLAP)}&`;
  return [
    rows({ status: 'ready', _lastUpdated: `le${formatInstant(now - OVERDUE)}` }),
    rows({ status: 'in-progress,on-hold,accepted,failed', period: `le${formatInstant(now)}` }),
    'Subscription?status=requested&_fields=meta',
    `Subscription?${changed}_fields=meta`,
  ];
}

const subscriberOf = (resource: Resource): string | undefined =>
  resource.resourceType === 'Task' ? resource.groupIdentifier?.value : ownerOf(resource, config);

/**
 * Reads what a run started by the clock begins with. How much it reads does not grow with the subscribers for whom
 * nothing is due: a row itself says when it must be looked at, and a changed Subscription is looked at until every
 * earlier change has been recorded.
 *
 * @param now - milliseconds since 1970 UTC
 * @throws Error when the server does not answer
 */
export async function readDueOutboxes(medplum: MedplumClient, now: number): Promise<DueOutboxes> {
  const [checkpoints, open = []] = await readInTransaction(medplum, [
    checkpointSearch(config),
    rowSearch(['outboxes'], { status: OPEN, _count: '1', _fields: 'id' }, config),
  ]);
  const [checkpoint] = ofType('Task', checkpoints);
  const found = await readAll(medplum, searches(checkpoint, now));
  const subscribers = [...new Set(found.flatMap((one) => subscriberOf(one) ?? []))];
  return { checkpoint, isListened: open.length > 0, subscribers: await readSubscribers(medplum, subscribers) };
}
