import type { MedplumClient } from '@medplum/core';
import type { BundleEntry, Resource, Task } from '@medplum/fhirtypes';
import { LEASE } from '../../../../core/notifications/delivery/delivery-state.ts';
import {
  allOutboxesQuery,
  type Ending,
  leftoverQueries,
  oldEventsQuery,
} from '../../../../core/notifications/delivery/retention.ts';
import { config } from '../../config.ts';
import { sendBundle } from '../../medplum.ts';
import { ofType, readInTransaction } from '../../read.ts';

/** How many resources one batch deletes: the server has others to serve. */
const AT_ONCE = 100;

/** How many resources one search returns: the most that Medplum allows. */
const PAGE = 1000;

/** Deletes resources; returns whether all of them are gone. */
async function remove(medplum: MedplumClient, resources: readonly Resource[]): Promise<boolean> {
  if (resources.length === 0) {
    return true;
  }
  const entry = resources.map(
    ({ resourceType, id }): BundleEntry => ({ request: { method: 'DELETE', url: `${resourceType}/${id}` } }),
  );
  const answer = await sendBundle(medplum, { resourceType: 'Bundle', type: 'batch', entry });
  const answers = answer.kind === 'done' ? answer.bundle.entry : undefined;
  const isGone = ({ response }: BundleEntry): boolean => /^(2|404|410)/.test(response?.status ?? '');
  return answers?.length === entry.length && answers.every(isGone);
}

/**
 * Deletes delivered events that are no longer kept, a hundred at a time.
 *
 * @param isTime - whether there is time for another hundred
 */
export async function removeOldEvents(medplum: MedplumClient, isTime: () => boolean): Promise<void> {
  let isMore = true;
  while (isMore && isTime()) {
    const [found = []] = await readInTransaction(medplum, [oldEventsQuery(Date.now(), AT_ONCE, config)]);
    isMore = (await remove(medplum, found)) && found.length === AT_ONCE;
  }
}

async function readAllOutboxes(medplum: MedplumClient): Promise<Task[]> {
  const tasks: Task[] = [];
  let page: Task[];
  do {
    const [found] = await readInTransaction(medplum, [allOutboxesQuery(PAGE, tasks.length, config)]);
    page = ofType('Task', found);
    tasks.push(...page);
  } while (page.length === PAGE);
  return tasks;
}

interface Ended {
  readonly task: Task;
  readonly id: string;
  readonly ending: Ending;
}

/** Whether no delivery can still be running that would write the message again after its deletion. */
const isAtRest = ({ meta }: Task): boolean => Date.parse(meta?.lastUpdated ?? '') + LEASE < Date.now();

/**
 * The outboxes whose Subscriptions are over. A Subscription is created together with its outbox, so if an outbox was read
 * and its Subscription is not found afterwards, the Subscription was deleted.
 */
async function endedAmong(medplum: MedplumClient, tasks: readonly Task[]): Promise<Ended[]> {
  const owned = tasks.filter(isAtRest).flatMap((task) => {
    const id = task.focus?.reference?.split('/')[1];
    return id ? [{ task, id }] : [];
  });
  if (owned.length === 0) {
    return [];
  }
  const query = `Subscription?_id=${owned.map(({ id }) => id).join(',')}&_count=${PAGE}`;
  const [found] = await readInTransaction(medplum, [query]);
  const statuses = new Map(ofType('Subscription', found).map(({ id, status }) => [id, status]));
  return owned.flatMap(({ task, id }): Ended[] => {
    if (!statuses.has(id)) {
      return [{ task, id, ending: 'deleted' }];
    }
    return statuses.get(id) === 'off' ? [{ task, id, ending: 'off' }] : [];
  });
}

/** Deletes what one Subscription has left behind; its outbox last, and only if the Subscription was deleted. */
async function removeLeftover(medplum: MedplumClient, { task, id, ending }: Ended, isTime: () => boolean) {
  let isMore = true;
  while (isMore && isTime()) {
    const queries = leftoverQueries[ending](id, Date.now(), AT_ONCE, config);
    const found = await readInTransaction(medplum, queries);
    const isGone = await remove(medplum, found.flat());
    isMore = isGone && found.some(({ length }) => length === AT_ONCE);
    if (isGone && !isMore && ending === 'deleted') {
      await remove(medplum, [task]);
    }
  }
}

/**
 * Deletes what ended Subscriptions have left behind.
 *
 * @param isTime - whether there is time for another Subscription
 */
export async function removeLeftovers(medplum: MedplumClient, isTime: () => boolean): Promise<void> {
  const tasks = await readAllOutboxes(medplum);
  for (let index = 0; index < tasks.length && isTime(); index += AT_ONCE) {
    for (const ended of await endedAmong(medplum, tasks.slice(index, index + AT_ONCE))) {
      await removeLeftover(medplum, ended, isTime);
    }
  }
}
