import type { MedplumClient } from '@medplum/core';
import type { Resource, Task } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { idIn } from '../../../core/fhir/reference/reference.ts';
import { checkpointQuery, OVERLAP, settledAt } from '../../../core/notifications/delivery/checkpoint.ts';
import { OVERDUE } from '../../../core/notifications/delivery/delivery-state.ts';
import { outboxCodeQuery } from '../../../core/notifications/delivery/outbox.ts';
import { activeTagQuery } from '../../../core/notifications/subscription/stored-status.ts';
import { config } from '../config.ts';
import { ofType, readInTransaction } from '../read.ts';
import { OPEN, readOutboxes, type SubscriptionOutbox } from './outbox-store.ts';

/** How many outboxes or Subscriptions one search returns: the most that Medplum allows. */
const PAGE = 1000;

/** What a run started by the clock begins with. */
export interface DueOutboxes {
  /** How far the events of all changes are recorded. */
  readonly checkpoint: Task | undefined;
  /** Whether there is anyone to tell about appointments. */
  readonly isListened: boolean;
  /** The outboxes for which something may be due, or whose Subscription was changed; ended ones are left out. */
  readonly outboxes: readonly SubscriptionOutbox[];
}

/**
 * The searches for the outboxes that are due by themselves, and for Subscriptions whose outboxes may have to follow them.
 */
function searches(checkpoint: Task | undefined, now: number): string[] {
  const code = outboxCodeQuery(config);
  const profile = artefactUri(config, 'LocalSubscriptionTermin');
  const settled = settledAt(checkpoint);
  const changed = settled === undefined ? '' : `_lastUpdated=ge${formatInstant(settled - OVERLAP)}&`;
  return [
    `Task?${code}&status=ready,received&_lastUpdated=le${formatInstant(now - OVERDUE)}&_fields=focus`,
    `Task?${code}&status=in-progress,on-hold,accepted,failed&period=le${formatInstant(now)}&_fields=focus`,
    `Subscription?status=requested&_tag:not=${encodeURIComponent(activeTagQuery)}&_fields=id`,
    `Subscription?status=active&_profile=${encodeURIComponent(profile)}&_fields=id`,
    `Subscription?${changed}_fields=id`,
  ];
}

const subscriptionOf = (resource: Resource): string | undefined =>
  resource.resourceType === 'Task' ? idIn(resource.focus, 'Subscription') : resource.id;

/** The ids of the Subscriptions that some searches find, page by page. */
async function subscriptionsFound(medplum: MedplumClient, queries: readonly string[]): Promise<string[]> {
  const ids: (string | undefined)[] = [];
  let left = queries;
  for (let offset = 0; left.length > 0; offset += PAGE) {
    const page = `_sort=_id&_count=${PAGE}&_offset=${offset}`;
    const found = await readInTransaction(
      medplum,
      left.map((query) => `${query}&${page}`),
    );
    ids.push(...found.flat().map(subscriptionOf));
    left = left.filter((_, index) => found[index]?.length === PAGE);
  }
  return [...new Set(ids.flatMap((id) => id ?? []))];
}

/**
 * Reads what a run started by the clock begins with. How much it reads does not grow with the Subscriptions for which
 * nothing is due: an outbox itself says when it must be looked at, and a changed Subscription is looked at until every
 * earlier change has been recorded.
 *
 * @param now - milliseconds since 1970 UTC
 * @throws Error when the server does not answer
 */
export async function readDueOutboxes(medplum: MedplumClient, now: number): Promise<DueOutboxes> {
  const code = outboxCodeQuery(config);
  const [checkpoints, open = []] = await readInTransaction(medplum, [
    `Task?${checkpointQuery(config)}`,
    `Task?${code}&status=${OPEN}&_count=1&_fields=id`,
  ]);
  const [checkpoint] = ofType('Task', checkpoints);
  const ids = await subscriptionsFound(medplum, searches(checkpoint, now));
  const outboxes = (await readOutboxes(medplum, ids)).filter(({ outbox }) => outbox.status !== 'cancelled');
  return { checkpoint, isListened: open.length > 0, outboxes };
}
