import { createHash } from 'node:crypto';
import type { MedplumClient } from '@medplum/core';
import { dueRemoval, type Removal } from '../../core/person/erasure.ts';
import { rowSearch } from '../../core/rows/row.ts';
import { config } from '../lib/config.ts';
import { post } from '../lib/medplum.ts';
import { recordEvents } from '../lib/notifications/events/event-writer.ts';
import { removeLeftovers, removeOldEvents } from '../lib/notifications/events/retention.ts';
import { ofType, readAll, readHistories } from '../lib/read.ts';
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
async function remove(medplum: MedplumClient, { reference, replacement }: Removal): Promise<void> {
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
 * Removes what an erasure has left to others and what is over by now, with all versions; of an appointment a copy without
 * the erased person stays. One that cannot be removed holds up no other.
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
      await remove(medplum, removal);
      await expunge(medplum, `Task/${row.id}`);
    }
  });
  await carryOut(acts, end);
}

/**
 * Is started by the clock and deletes what is no longer needed: delivered events that are older than
 * `notifications.keepEventsDays`, what ended Subscriptions have left behind, and what an erasure left to others. It can
 * be interrupted at any point.
 */
export async function handler(medplum: MedplumClient): Promise<void> {
  const end = Date.now() + RUN_LIMIT;
  const isTime = (): boolean => Date.now() < end;
  await removeOldEvents(medplum, isTime);
  await removeLeftovers(medplum, isTime);
  await removeErased(medplum, end);
}
