import type { MedplumClient } from '@medplum/core';
import type { BundleEntry, Task } from '@medplum/fhirtypes';
import { isResource, updateEntry } from '../../core/fhir/resource.ts';
import { creation, moment, momentIn, newRow, type RowCode, rowSearch } from '../../core/rows/row.ts';
import { config } from './config.ts';
import { isRateLimit, writeUnlessOvertaken } from './medplum.ts';

/**
 * After this many milliseconds a Bot that works through a list begins nothing more: Medplum gives it ten seconds, and
 * what is left waits for its next run.
 */
export const RUN_LIMIT = 6_000;

/**
 * Writes rows, and what belongs to them, in one transaction.
 *
 * @param what - names them where they cannot be written
 * @returns the first row as it is then; `undefined` if somebody else has changed one of them meanwhile
 * @throws Error when they could not be written
 */
export async function writeRows(medplum: MedplumClient, entry: BundleEntry[], what: string): Promise<Task | undefined> {
  const written = await writeUnlessOvertaken(medplum, entry, what);
  return written?.entry?.map(({ resource }) => resource).find((one) => isResource(one, 'Task'));
}

/** The search for the row that keeps the moment up to which something is done. */
export const checkpointSearch = (code: RowCode): string => rowSearch([code], {}, config);

/** The moment up to which something is done, by its row; milliseconds since 1970 UTC. */
export const reachedIn = (row: Task | undefined): number | undefined => momentIn(row?.input, 'until');

/** Keeps the moment up to which something is done, unless another run has moved it. */
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
 * Does one thing after the other until the time is over; what is left waits for the next run. One that fails does not hold up
 * the others, unless Medplum takes no more requests for now: each would make that longer.
 *
 * @param end - nothing is begun after it; milliseconds since 1970 UTC
 * @throws Error with all failures
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
