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
 * The publication row of a Schedule: whoever creates Slots where there may be none yet reads it before them, and writes it
 * with them (`rowEntry`).
 *
 * @returns `undefined` if nothing was ever to be published for it
 * @throws ReadError when the server could not be read
 */
export async function publicationRow(medplum: MedplumClient, schedule: string): Promise<Task | undefined> {
  const [found] = await readInBatch(medplum, [publicationOf(schedule, config)]);
  return ofType('Task', found)[0];
}

/** The publication row of a Schedule, which gets one, once, whoever is faster: publishing looks at it when its turn comes. */
export async function ensureRow(medplum: MedplumClient, schedule: string): Promise<Task | undefined> {
  const found = await publicationRow(medplum, schedule);
  if (found) {
    return found;
  }
  const row = publicationTask({ schedule, status: 'accepted', due: Date.now() }, config);
  await sendTransaction(medplum, [creation(row, publicationOf(schedule, config))]);
  return publicationRow(medplum, schedule);
}

/** An entry that changes a row, or creates it where its search finds none. */
export function requestEntry(row: Task | undefined, changed: Task, query: string): BundleEntry {
  return row ? rowEntry(row, Date.now(), config, changed) : creation(changed, query);
}

/**
 * Writes the row that a search finds, however often others are faster.
 *
 * @param change - what is to be written; `undefined` if it is so already
 */
async function request(
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
 * Requests a sweep over all Schedules, from the first one on. A run that works on the queue begins it anew.
 *
 * @throws Error when it could not be requested
 */
export async function requestSweep(medplum: MedplumClient): Promise<void> {
  const now = Date.now();
  const change = (row: Task | undefined): Task => {
    const busyUntil = row && sweepIn(row)?.busyUntil;
    return sweepTask({ status: 'accepted', due: now, began: now, offset: 0, busyUntil }, config);
  };
  await request(medplum, rowSearch(['publish-all'], {}, config), change, 'The sweep over all Schedules');
}

/** The publication of a whole calendar as it is requested; `undefined` if it is already. */
function requested(schedule: string, row: Task | undefined): Task | undefined {
  const { status, from, due, services } = (row && publicationIn(row)) ?? {};
  const isRequested = status === 'requested' && from === undefined && due !== undefined;
  return isRequested
    ? undefined
    : publicationTask({ schedule, status: 'requested', due: Date.now(), services }, config);
}

/**
 * Requests the publication of a whole calendar. It begins as soon as Medplum has seen the request.
 *
 * @throws Error when it could not be requested
 */
export async function requestPublication(medplum: MedplumClient, schedule: string): Promise<void> {
  const change = (row: Task | undefined) => requested(schedule, row);
  await request(medplum, publicationOf(schedule, config), change, `The publication of Schedule/${schedule}`);
}

/**
 * The entry of a transaction that requests the publication of a whole calendar.
 *
 * @param row - its publication row, as it was read
 * @param since - nothing is requested if its Slots have been looked at since then; milliseconds since 1970 UTC
 */
export function publicationEntry(schedule: string, row: Task | undefined, since: number): BundleEntry[] {
  const isPublished = ((row && publicationIn(row)?.began) ?? 0) > since;
  const changed = isPublished ? undefined : requested(schedule, row);
  return changed ? [requestEntry(row, changed, publicationOf(schedule, config))] : [];
}
