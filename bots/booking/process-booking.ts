import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Bot, BundleEntry, Task } from '@medplum/fhirtypes';
import {
  attemptEntry,
  attemptsOf,
  completedBy,
  completing,
  failed,
  inTurns,
  jobIn,
  MAX_ATTEMPTS,
  overdueJobs,
  visibleTo,
} from '../../core/booking/jobs/booking-task.ts';
import { parseBookRequest } from '../../core/booking/request/request.ts';
import { type Issue, toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { bookAppointment, isTransient } from '../lib/booking/book.ts';
import { config } from '../lib/config.ts';
import { ofType, readAll, readInTransaction } from '../lib/read.ts';
import { carryOut, RUN_LIMIT, writeRows } from '../lib/rows.ts';

const writeEnd = (medplum: MedplumClient, entry: BundleEntry) => writeRows(medplum, [entry], 'The end of a job');

const mayBeRetried = (task: Task): boolean =>
  attemptsOf(task) < MAX_ATTEMPTS && Date.now() - Date.parse(task.meta?.lastUpdated ?? '') < MAX_AGE;

/**
 * Runs a booking job once; a Task without a readable job is ignored.
 * @throws Error after a temporary refusal, while attempts are left: the job stays unfinished
 */
async function runJob(medplum: MedplumClient, task: Task): Promise<void> {
  const job = jobIn(task);
  if (!job) {
    return;
  }
  const parsed = parseBookRequest(job.body, config);
  const result = await bookAppointment(
    medplum,
    parsed,
    {
      id: job.requestor,
      reference: job.requester,
      role: job.role,
      limits: ['open'],
      narrow: (state) => visibleTo(job, state, config),
    },
    { extend: (transaction, newId, count) => completing(transaction, task, newId, count) },
  );
  if (result.kind === 'existing') {
    await writeEnd(medplum, completedBy(task, result.appointments));
  }
  if (result.kind === 'refused') {
    if (isTransient(result.issues) && mayBeRetried(task)) {
      throw new Error(result.issues.map(({ diagnostics }) => diagnostics).join(' '));
    }
    await writeEnd(medplum, failed(task, toOperationOutcome(result.issues, config)));
  }
}

/** After this time (a day, in milliseconds), a job whose attempts could not even be counted is refused. */
const MAX_AGE = 24 * 60 * 60_000;

async function readTasks(medplum: MedplumClient, search: string): Promise<Task[]> {
  const [found] = await readInTransaction(medplum, [search]);
  return ofType('Task', found);
}

const givenUp: Issue = {
  code: 'upstream-unavailable',
  diagnostics: `The booking could not be carried out in ${MAX_ATTEMPTS} attempts. Nothing was booked.`,
};

/**
 * Carries out an unfinished job: the process that claimed it was killed, or could not reach the server. The attempt is
 * counted first, so that a crash counts as an attempt. A job without attempts left is refused.
 */
async function runAgain(medplum: MedplumClient, { id = '' }: Task): Promise<void> {
  const [task] = await readTasks(medplum, `Task?_id=${id}`);
  if (!task || !jobIn(task)) {
    return;
  }
  if (attemptsOf(task) >= MAX_ATTEMPTS) {
    await writeEnd(medplum, failed(task, toOperationOutcome([givenUp], config)));
    return;
  }
  const current = await writeRows(medplum, [attemptEntry(task)], 'The attempt');
  await (current && runJob(medplum, current));
}

/**
 * Carries out an asynchronous booking. The transaction that books also completes the Task, so that the job books once
 * even if it runs several times. Medplum does not run a failed Bot again; therefore Medplum's cron also starts this Bot
 * every minute for unfinished jobs, one of each requestor after the other.
 * @param event - input: the Task, as the Subscription delivers it, or the Bot itself, as cron does
 * @throws Error when the server could not be reached, or conflicts with other requests persist: the job stays unfinished
 * @see specification 4.4, asynchronous execution
 */
export async function handler(medplum: MedplumClient, event: BotEvent<Task | Bot>): Promise<void> {
  const { input } = event;
  if (input.resourceType === 'Task') {
    const [task] = await readTasks(medplum, `Task?_id=${input.id}`);
    return task && runJob(medplum, task);
  }
  const now = Date.now();
  const found = ofType('Task', await readAll(medplum, [overdueJobs(now, config)]));
  await carryOut(
    inTurns(found, Math.random, config).map((task) => () => runAgain(medplum, task)),
    now + RUN_LIMIT,
  );
}
