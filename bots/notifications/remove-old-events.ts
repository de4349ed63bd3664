import type { MedplumClient } from '@medplum/core';
import { removeLeftovers, removeOldEvents } from '../lib/notifications/events/retention.ts';
import { removeErased } from '../lib/person/erasure.ts';
import { RUN_LIMIT } from '../lib/rows.ts';

/**
 * Is started by the clock and deletes what is no longer needed: delivered events that are older than
 * `notifications.keepEventsDays`, what ended Subscriptions have left behind, and what an erasure left to others. It can
 * be interrupted at any point.
 *
 * @throws Error when Medplum does not answer; the next run does it
 */
export async function handler(medplum: MedplumClient): Promise<void> {
  const end = Date.now() + RUN_LIMIT;
  const isTime = (): boolean => Date.now() < end;
  await removeOldEvents(medplum, isTime);
  await removeLeftovers(medplum, isTime);
  await removeErased(medplum, end);
}
