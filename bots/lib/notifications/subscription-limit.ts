import type { MedplumClient } from '@medplum/core';
import type { BundleEntry } from '@medplum/fhirtypes';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { requestorTag } from '../../../core/fhir/tags.ts';
import { subscriberTask, subscriberTaskSearch } from '../../../core/notifications/subscription/subscriber-task.ts';
import { config } from '../config.ts';
import { sendTransaction } from '../medplum.ts';
import { ofType, readInTransaction } from '../read.ts';

const NOT_OVER = 'requested,active,error';

const exceeded: Issue = {
  code: 'subscriptions-exceeded',
  diagnostics: `A subscriber can have at most ${config.notifications.maxSubscriptions} Subscriptions: delete or change one.`,
};

const full: Issue = {
  code: 'subscriptions-exceeded',
  diagnostics: `The whole project has the ${config.notifications.maxAllSubscriptions} Subscriptions that the service can keep: ask the clinic to remove some, or delete your own.`,
};

/** Finds one Subscription when the project is full. */
function lastPlaceQuery(): string {
  const offset = String(config.notifications.maxAllSubscriptions - 1);
  return `Subscription?${new URLSearchParams({ status: NOT_OVER, _offset: offset, _count: '1', _fields: 'id' })}`;
}

/** The search for the Subscriptions of a subscriber that are not over, at most as many as it may have. */
function openSubscriptionsQuery(subscriber: string): string {
  const { system, code } = requestorTag(subscriber, config);
  const query = new URLSearchParams([
    ['_tag', `${system}|${code}`],
    ['status', NOT_OVER],
    ['_count', String(config.notifications.maxSubscriptions)],
    ['_fields', 'id'],
  ]);
  return `Subscription?${query}`;
}

/**
 * Takes a place for one more Subscription of a subscriber.
 *
 * @returns the entry that must go into the transaction that adds the Subscription: it fails if another one was added
 *   since; or why there is no place; or `overtaken` if this must be called again
 * @throws ReadError when Medplum does not answer
 */
export async function takePlace(
  medplum: MedplumClient,
  subscriber: string,
): Promise<BundleEntry | Issue | 'overtaken'> {
  const search = subscriberTaskSearch(subscriber, config);
  const [tasks, open = [], last = []] = await readInTransaction(medplum, [
    `Task?${search}`,
    openSubscriptionsQuery(subscriber),
    lastPlaceQuery(),
  ]);
  if (open.length >= config.notifications.maxSubscriptions) {
    return exceeded;
  }
  if (last.length > 0) {
    return full;
  }
  const [task] = ofType('Task', tasks);
  if (!task) {
    const request = { method: 'POST' as const, url: 'Task', ifNoneExist: search };
    await sendTransaction(medplum, [{ request, resource: subscriberTask(subscriber, config) }]);
    return 'overtaken';
  }
  return {
    request: { method: 'PUT', url: `Task/${task.id}`, ifMatch: `W/"${task.meta?.versionId}"` },
    resource: subscriberTask(subscriber, config, task),
  };
}
