import type { MedplumClient } from '@medplum/core';
import type { Appointment, Bundle, BundleEntry } from '@medplum/fhirtypes';
import { isResource } from '../../../../core/fhir/resource.ts';
import { checkpointSearch, unsettledSince } from '../../../../core/notifications/delivery/checkpoint.ts';
import { recordedSince } from '../../../../core/notifications/delivery/retention.ts';
import { isDeletion, type Version, versionsIn } from '../../../../core/notifications/events/appointment-events.ts';
import { config } from '../../config.ts';
import { ofType, readHistories, readInTransaction } from '../../read.ts';
import type { SubscriptionOutbox } from '../outbox-store.ts';

/** How many of an appointment's newest versions are read; older ones are read only while their events may be missing. */
const VERSIONS = 50;

/** How many older versions are read at a time, and how many of one appointment at most: Medplum pages no further. */
const OLDER = { page: 200, most: 10_000 };

/** What decides whom a version concerns. */
const deciding: ReadonlySet<string> = new Set(['resourceType', 'id', 'meta', 'status', 'participant', 'extension']);

/** The most characters that other elements of a version may have to be kept in memory. */
const MAX_LENGTH = 1_000;

/** An entry without long texts, which decide nothing: thousands of versions may be in memory at the same time. */
function withoutLong({ resource, ...entry }: BundleEntry): BundleEntry {
  if (!isResource(resource, 'Appointment')) {
    return { ...entry, ...(resource && { resource }) };
  }
  const kept = { ...resource };
  for (const name of Object.keys(kept) as (keyof Appointment)[]) {
    if (!deciding.has(name) && JSON.stringify(kept[name]).length > MAX_LENGTH) {
      delete kept[name];
    }
  }
  return { ...entry, resource: kept };
}

/** Whether a history that was read lacks older versions. */
export const isCut = ({ entry = [], total = 0 }: Pick<Bundle, 'entry' | 'total'> = {}): boolean => total > entry.length;

/** When a version was written, or the appointment deleted; milliseconds since 1970 UTC. */
export const momentOf = (version: Version | undefined): number =>
  Date.parse((isDeletion(version) ? version.deleted : version?.meta?.lastUpdated) ?? '');

/** Identifies an entry of a history: a version that is written in the meantime shifts the pages. */
const entryKey = ({ resource, response }: BundleEntry): string =>
  resource?.meta?.versionId ?? JSON.stringify(response?.outcome);

/** A history with older entries added, as long as these may be about changes after a moment. */
async function withOlder(medplum: MedplumClient, about: string, first: Bundle, since: number): Promise<Bundle> {
  const { entry = [], total = 0 } = first;
  const entries = new Map(entry.map((one) => [entryKey(one), one]));
  let offset = entry.length;
  let oldest = entry.at(-1);
  const mayMiss = (): boolean => momentOf(versionsIn({ ...first, entry: oldest && [oldest] }, Date.now())[0]) >= since;
  while (oldest && offset < Math.min(total, OLDER.most) && mayMiss()) {
    const [page] = await readHistories(medplum, [`${about}/_history?_count=${OLDER.page}&_offset=${offset}`]);
    const older = page?.entry ?? [];
    for (const one of older) {
      entries.set(entryKey(one), withoutLong(one));
    }
    offset += older.length;
    oldest = older.at(-1);
  }
  return { ...first, entry: [...entries.values()] };
}

/**
 * Reads the histories of appointments as far as events of their changes may be missing: their newest versions, and older
 * ones too if runs were missed.
 *
 * @param about - references to the appointments
 * @param outboxes - of the subscribers that may have to be told
 * @throws ReadError when the server does not answer
 */
export async function readAppointmentHistories(
  medplum: MedplumClient,
  about: readonly string[],
  outboxes: readonly SubscriptionOutbox[],
): Promise<Bundle[]> {
  const histories = await readHistories(
    medplum,
    about.map((reference) => `${reference}/_history?_count=${VERSIONS}`),
  );
  if (!histories.some(isCut)) {
    return histories;
  }
  const [checkpoints] = await readInTransaction(medplum, [checkpointSearch(config)]);
  const listening = outboxes.map(({ outbox }) => recordedSince(outbox.since, Date.now(), config));
  const since = unsettledSince(ofType('Task', checkpoints)[0], Math.min(...listening));
  const complete: Bundle[] = [];
  for (const [index, history] of histories.entries()) {
    complete.push(isCut(history) ? await withOlder(medplum, about[index] ?? '', history, since) : history);
  }
  return complete;
}
