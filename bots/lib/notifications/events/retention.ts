import type { MedplumClient } from '@medplum/core';
import type { BundleEntry, Resource } from '@medplum/fhirtypes';
import { isFree } from '../../../../core/notifications/delivery/delivery-state.ts';
import { messageQuery } from '../../../../core/notifications/delivery/message.ts';
import { withoutOutbox } from '../../../../core/notifications/delivery/outbox.ts';
import { isAwaited, oldEventsQuery } from '../../../../core/notifications/delivery/retention.ts';
import { rowSearch } from '../../../../core/rows/row.ts';
import { chunks } from '../../../../core/rows/search.ts';
import { config } from '../../config.ts';
import { sendBundle } from '../../medplum.ts';
import { ofType, readAll, readInTransaction, readPages } from '../../read.ts';
import { type OutboxRow, readSubscribers, rowsIn, type SubscriberState, writeOutboxes } from '../outbox-store.ts';

/** How many resources one batch deletes: the server has others to serve. */
const BATCH = 100;

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

const readAllRows = async (medplum: MedplumClient): Promise<OutboxRow[]> =>
  rowsIn(await readAll(medplum, [rowSearch(['outboxes'], {}, config)]));

/**
 * Deletes events that are no longer kept, a hundred at a time; those for which a Subscription still waits stay.
 * @param isTime - whether there is time for another hundred
 */
export async function removeOldEvents(medplum: MedplumClient, isTime: () => boolean): Promise<void> {
  const outboxes = new Map((await readAllRows(medplum)).flatMap((row) => [...row.outboxes.of]));
  for await (const [found = []] of readPages(medplum, [oldEventsQuery(Date.now(), config)])) {
    const old = ofType('Communication', found).filter((communication) => !isAwaited(communication, outboxes, config));
    for (const communications of [...chunks(old, BATCH), []]) {
      if (!isTime() || !(await remove(medplum, communications))) {
        return;
      }
    }
  }
}

/** Deletes the messages of one subscriber's websockets that are over, and the outboxes of Subscriptions that are gone. */
async function removeLeftover(medplum: MedplumClient, { row, subscriptions }: SubscriberState): Promise<void> {
  const existing = new Set(subscriptions.map(({ subscription }) => subscription.id));
  const over = [...row.outboxes.of].flatMap(([id, { status }]) =>
    status === 'cancelled' || !existing.has(id) ? [id] : [],
  );
  const messages = await readInTransaction(
    medplum,
    over.map((id) => messageQuery(id, config)),
  );
  const isGone = await remove(medplum, messages.flat());
  const gone = over.filter((id) => !existing.has(id));
  if (isGone && gone.length > 0) {
    await writeOutboxes(medplum, row, [], { change: (outboxes) => gone.reduce(withoutOutbox, outboxes) });
  }
}

/**
 * Deletes what ended Subscriptions have left behind.
 * @param isTime - whether there is time for another subscriber
 */
export async function removeLeftovers(medplum: MedplumClient, isTime: () => boolean): Promise<void> {
  for (const { outboxes } of await readAllRows(medplum)) {
    if (!isTime()) {
      return;
    }
    // A delivery that is still running would write a message again after its deletion.
    if (isFree(outboxes, Date.now())) {
      const [state] = await readSubscribers(medplum, [outboxes.subscriber]);
      await (state && removeLeftover(medplum, state));
    }
  }
}
