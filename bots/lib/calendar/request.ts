import type { MedplumClient } from '@medplum/core';
import type { BundleEntry, Task } from '@medplum/fhirtypes';
import {
  publicationIn,
  publicationOf,
  publicationTask,
  rowEntry,
  sweepIn,
  sweepTask,
} from '../../../core/calendar/publish/publication.ts';
import { creation, rowSearch } from '../../../core/rows/row.ts';
import { config } from '../config.ts';
import { retryOvertaken, sendTransaction } from '../medplum.ts';
import { ofType, readInBatch } from '../read.ts';
import { writeRows } from '../rows.ts';

/**
 * Reads the publication row of a Schedule. A function that creates Slots reads the row before the Slots and writes it
 * in the same transaction (`rowEntry`), so that no two runs create the same Slot.
 * @returns `undefined` if publishing was never requested
 * @throws ReadError when the server could not be read
 */
export async function publicationRow(medplum: MedplumClient, schedule: string): Promise<Task | undefined> {
  const [found] = await readInBatch(medplum, [publicationOf(schedule, config)]);
  return ofType('Task', found)[0];
}

/** Reads the publication row of a Schedule, or creates it as due. Concurrent calls create only one. */
export async function ensureRow(medplum: MedplumClient, schedule: string): Promise<Task | undefined> {
  const found = await publicationRow(medplum, schedule);
  if (found) {
    return found;
  }
  const row = publicationTask({ schedule, status: 'accepted', due: Date.now() }, config);
  await sendTransaction(medplum, [creation(row, publicationOf(schedule, config))]);
  return publicationRow(medplum, schedule);
}

/** The entry that updates a row, or creates it on condition that its search finds none. */
export function requestEntry(row: Task | undefined, changed: Task, query: string): BundleEntry {
  return row ? rowEntry(row, Date.now(), config, changed) : creation(changed, query);
}

/**
 * Writes the row that a search finds, and retries if other requests are faster.
 * @param change - returns the new row; `undefined` if there is nothing to write
 */
async function requestRow(
  medplum: MedplumClient,
  query: string,
  change: (row: Task | undefined) => Task | undefined,
  what: string,
): Promise<Task | undefined> {
  const attempt = async (): Promise<{ readonly isDone: boolean; readonly row?: Task | undefined }> => {
    const [found] = await readInBatch(medplum, [query]);
    const [row] = ofType('Task', found);
    const changed = change(row);
    if (!changed) {
      return { isDone: true, row };
    }
    const written = await writeRows(medplum, [requestEntry(row, changed, query)], what);
    return { isDone: written !== undefined, row: written };
  };
  const { isDone, row } = await retryOvertaken(attempt, (result) => !result.isDone);
  if (!isDone) {
    throw new Error(`${what} could not be requested: other requests were faster at each attempt.`);
  }
  return row;
}

/**
 * Requests a sweep over all Schedules. A current sweep starts again from the first Schedule.
 * @throws Error when it could not be requested
 */
export async function requestSweep(medplum: MedplumClient): Promise<void> {
  const now = Date.now();
  const change = (row: Task | undefined): Task => {
    const busyUntil = row && sweepIn(row)?.busyUntil;
    return sweepTask({ status: 'accepted', due: now, began: now, offset: 0, busyUntil }, config);
  };
  await requestRow(medplum, rowSearch(['publish-all'], {}, config), change, 'The sweep over all Schedules');
}

/** The row that requests the publication of a whole calendar; `undefined` if it is already requested. */
function wholePublication(schedule: string, row: Task | undefined): Task | undefined {
  const { status, from, due, services } = (row && publicationIn(row)) ?? {};
  const isRequested = status === 'requested' && from === undefined && due !== undefined;
  return isRequested
    ? undefined
    : publicationTask({ schedule, status: 'requested', due: Date.now(), services }, config);
}

/**
 * Requests the publication of a whole calendar. It begins as soon as Medplum has seen the request.
 * @throws Error when it could not be requested
 */
export async function requestPublication(medplum: MedplumClient, schedule: string): Promise<void> {
  const change = (row: Task | undefined) => wholePublication(schedule, row);
  await requestRow(medplum, publicationOf(schedule, config), change, `The publication of Schedule/${schedule}`);
}

/**
 * The entry of a transaction that requests the publication of a whole calendar.
 * @param since - no request if publishing has started since then; milliseconds since 1970 UTC
 */
export function publicationEntry(schedule: string, row: Task | undefined, since: number): BundleEntry[] {
  const isPublished = ((row && publicationIn(row)?.began) ?? 0) > since;
  const changed = isPublished ? undefined : wholePublication(schedule, row);
  return changed ? [requestEntry(row, changed, publicationOf(schedule, config))] : [];
}
