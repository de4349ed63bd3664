import { createHash } from 'node:crypto';
import type { MedplumClient } from '@medplum/core';
import type { BundleEntry, Resource } from '@medplum/fhirtypes';
import { isFree } from '../../core/notifications/delivery/delivery-state.ts';
import { messageQuery } from '../../core/notifications/delivery/message.ts';
import { withoutOutbox } from '../../core/notifications/delivery/outbox.ts';
import { isAwaited, oldEventsQuery } from '../../core/notifications/delivery/retention.ts';
import { dueRemoval, type Removal } from '../../core/person/erasure.ts';
import { rowSearch } from '../../core/rows/row.ts';
import { chunks } from '../../core/rows/search.ts';
import { config } from '../lib/config.ts';
import { post, sendBundle } from '../lib/medplum.ts';
import { recordEvents } from '../lib/notifications/events/event-writer.ts';
import {
  type OutboxRow,
  readSubscribers,
  rowsIn,
  type SubscriberState,
  writeOutboxes,
} from '../lib/notifications/outbox-store.ts';
import { ofType, readAll, readHistories, readInTransaction, readPages } from '../lib/read.ts';
import { carryOut, RUN_LIMIT, writeRows } from '../lib/rows.ts';

const hash = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** Removes a resource with all its versions, which only an administrator may. */
async function expunge(medplum: MedplumClient, reference: string): Promise<void> {
  const response = await post(medplum, `fhir/R4/${reference}/$expunge`, {});
  if (typeof response === 'string' || response.status >= 300) {
    throw new Error(`${reference} could not be removed: ${typeof response === 'string' ? response : response.status}.`);
  }
}

/** Carries out a removal. After a crash the copy is found again by its identifier. */
async function carryOutRemoval(medplum: MedplumClient, { reference, replacement }: Removal): Promise<void> {
  if (replacement) {
    const [, id = ''] = reference.split('/');
    const { system, value } = replacement.identifier?.[0] ?? {};
    await recordEvents(medplum, [{ ...replacement, id }], 'concerned');
    const request = { method: 'POST' as const, url: 'Appointment', ifNoneExist: `identifier=${system}|${value}` };
    await writeRows(medplum, [{ request, resource: replacement }], reference);
  }
  await expunge(medplum, reference);
}

/**
 * Removes the resources that an erasure kept for others and that are over now, with all versions. A copy of an
 * appointment without the erased person stays. A failure does not hold up the others.
 * @param end - no removal starts after it; milliseconds since 1970 UTC
 */
async function removeErased(medplum: MedplumClient, end: number): Promise<void> {
  const rows = ofType('Task', await readAll(medplum, [rowSearch(['erasure'], {}, config)]));
  const acts = rows.map((row) => async () => {
    const [history] = await readHistories(medplum, [`${row.focus?.reference}/_history?_count=1000`]);
    const entries = history?.entry ?? [];
    const versions = entries.flatMap(({ resource }) => resource ?? []);
    const isDeleted = entries.length > 0 && entries[0]?.resource === undefined;
    const removal = dueRemoval(row, { isDeleted, versions }, { config, hash });
    if (removal) {
      await carryOutRemoval(medplum, removal);
      await expunge(medplum, `Task/${row.id}`);
    }
  });
  await carryOut(acts, end);
}

/**
 * Scheduled. Deletes delivered events that are older than `notifications.keepEventsDays`, the remains of ended
 * Subscriptions, and resources that an erasure kept for others. It can be interrupted at any point.
 */
export async function handler(medplum: MedplumClient): Promise<void> {
  const end = Date.now() + RUN_LIMIT;
  const isTime = (): boolean => Date.now() < end;
  await removeOldEvents(medplum, isTime);
  await removeLeftovers(medplum, isTime);
  await removeErased(medplum, end);
}

/** How many resources one batch deletes: the server has others to serve. */
const BATCH = 100;

/** Deletes resources; returns whether all of them are gone. */
async function removeAll(medplum: MedplumClient, resources: readonly Resource[]): Promise<boolean> {
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
      if (!isTime() || !(await removeAll(medplum, communications))) {
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
  const isGone = await removeAll(medplum, messages.flat());
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
