import type { MedplumClient } from '@medplum/core';
import type { BundleEntry, Task } from '@medplum/fhirtypes';
import { publicationIn, publicationQuery, publicationTask } from '../../../core/calendar/publish/publication.ts';
import {
  nextPass,
  rollForwardIn,
  rollForwardQuery,
  rollForwardTask,
} from '../../../core/calendar/publish/roll-forward.ts';
import { updateEntry } from '../../../core/fhir/update-entry.ts';
import { config } from '../config.ts';
import { retryOvertaken, sendTransaction } from '../medplum.ts';
import { ofType, readInBatch } from '../read.ts';

/**
 * How many Schedules are published immediately, at the same time: any more wait for their turn, so that bookings need not
 * wait.
 */
const MOST_AT_ONCE = 2;

async function done(medplum: MedplumClient, entry: BundleEntry, what: string): Promise<boolean> {
  const { kind } = await sendTransaction(medplum, [entry]);
  if (kind !== 'done' && kind !== 'overtaken') {
    throw new Error(`${what} could not be requested (${kind}).`);
  }
  return kind === 'done';
}

async function persistently(act: () => Promise<boolean>, what: string): Promise<void> {
  if (!(await retryOvertaken(act, (isDone) => !isDone, { most: config.maxAttempts }))) {
    throw new Error(`${what} could not be requested: other requests were faster at each attempt.`);
  }
}

/** Changes a Task, or creates it where a search finds none. */
function taskEntry(task: Task | undefined, resource: Task, query: string): BundleEntry {
  return task
    ? updateEntry(task, { ...resource, id: task.id, meta: task.meta })
    : { request: { method: 'POST', url: 'Task', ifNoneExist: query.replace('Task?', '') }, resource };
}

/** How a pass through all Schedules is requested: begin anew, or go on with the last one if it has ended. */
export type PassRequest = 'begin' | 'go-on';

/**
 * Requests the pass through all Schedules, which publishes what is out of date.
 *
 * @throws Error when it could not be requested
 */
export async function requestRollForward(medplum: MedplumClient, request: PassRequest): Promise<void> {
  const query = rollForwardQuery(config);
  const what = 'The publication of all Schedules';
  await persistently(async () => {
    const [found] = await readInBatch(medplum, [query]);
    const [task] = ofType('Task', found);
    // A Task that keeps no pass, for example because it was cancelled, is used for the next one.
    const last = task && rollForwardIn(task);
    if (request === 'go-on' && last && last.status !== 'completed') {
      return true;
    }
    const next = request === 'go-on' && last ? { ...last, status: 'requested' as const } : nextPass(last, Date.now());
    return done(medplum, taskEntry(task, rollForwardTask(next, config), query), what);
  }, what);
}

/**
 * Requests the publication of a whole calendar from now on. It begins as soon as Medplum has seen the request, or, when
 * several are being published, when its turn comes.
 *
 * @throws Error when it could not be requested
 */
export async function requestPublication(medplum: MedplumClient, schedule: string): Promise<void> {
  const what = `The publication of Schedule/${schedule}`;
  const query = publicationQuery({ focus: `Schedule/${schedule}` }, config);
  const busy = publicationQuery({ status: 'requested,in-progress', _count: `${MOST_AT_ONCE + 1}` }, config);
  let mustWait = false;
  await persistently(async () => {
    const [found, others] = await readInBatch(medplum, [query, busy]);
    const [task] = ofType('Task', found);
    mustWait = ofType('Task', others).filter(({ id }) => id !== task?.id).length >= MOST_AT_ONCE;
    const status = mustWait ? 'accepted' : 'requested';
    if (task?.status === status && publicationIn(task)?.from === undefined) {
      return true;
    }
    return done(medplum, taskEntry(task, publicationTask({ schedule, status }, config), query), what);
  }, what);
  if (mustWait) {
    await requestRollForward(medplum, 'go-on');
  }
}
