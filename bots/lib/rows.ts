import type { MedplumClient } from '@medplum/core';
import type { BundleEntry, Task } from '@medplum/fhirtypes';
import { isResource, updateEntry } from '../../core/fhir/resource.ts';
import { creation, moment, momentIn, newRow, type RowCode, rowSearch } from '../../core/rows/row.ts';
import { config } from './config.ts';
import { isRateLimit, writeUnlessOvertaken } from './medplum.ts';

/**
 * After this many milliseconds, a Bot that works through a list starts nothing more and leaves the rest to its next
 * run: Medplum stops it after ten seconds.
 */
export const RUN_LIMIT = 6_000;

/**
 * Writes rows and further entries in one transaction.
 * @param what - names the rows in error messages
 * @returns the first row as it was stored; `undefined` if a concurrent change came first
 */
export async function writeRows(medplum: MedplumClient, entry: BundleEntry[], what: string): Promise<Task | undefined> {
  const written = await writeUnlessOvertaken(medplum, entry, what);
  return written?.entry?.map(({ resource }) => resource).find((one) => isResource(one, 'Task'));
}

/** The search for a checkpoint row, which stores the moment up to which a task is done. */
export const checkpointSearch = (code: RowCode): string => rowSearch([code], {}, config);

/** The moment in a checkpoint row, in milliseconds since 1970 UTC. */
export const reachedIn = (row: Task | undefined): number | undefined => momentIn(row?.input, 'until');

/** Moves a checkpoint unless another run has moved it. */
export async function moveCheckpoint(
  medplum: MedplumClient,
  code: RowCode,
  stored: Task | undefined,
  until: number,
): Promise<void> {
  const next = newRow(code, { status: 'in-progress', input: moment('until', until) }, config, stored);
  const entry = stored ? updateEntry(stored, next) : creation(next, checkpointSearch(code));
  await writeRows(medplum, [entry], `The row ${code}`);
}

/**
 * Runs acts one after the other until `end`; the rest waits for the next run. A failure does not stop the others,
 * except at Medplum's rate limit, which each further request would prolong.
 * @param end - no act starts after it; milliseconds since 1970 UTC
 * @throws AggregateError all failures, at the end
 */
export async function carryOut(
  acts: Iterable<() => Promise<unknown>> | AsyncIterable<() => Promise<unknown>>,
  end: number,
): Promise<void> {
  const failures: unknown[] = [];
  for await (const act of acts) {
    if (Date.now() >= end) {
      break;
    }
    await act().catch((error: unknown) => failures.push(error));
    if (isRateLimit(failures.at(-1))) {
      break;
    }
  }
  if (failures.length > 0) {
    throw new AggregateError(failures, failures.map(String).join('\n'));
  }
}
