import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Bot, BundleEntry, Task } from '@medplum/fhirtypes';
import { completedBy, completing, failed, jobIn, overdueQuery, visibleTo } from '../../core/booking/async/task.ts';
import { parseBookRequest } from '../../core/booking/book/request/request.ts';
import { toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { bookAppointment, isTransient } from '../lib/booking/book.ts';
import { config } from '../lib/config.ts';
import { sendTransaction } from '../lib/medplum.ts';
import { ofType, readInTransaction } from '../lib/read.ts';
import { RUN_LIMIT } from '../lib/run-limit.ts';

async function end(medplum: MedplumClient, entry: BundleEntry): Promise<void> {
  const ended = await sendTransaction(medplum, [entry]);
  if (ended.kind !== 'done' && ended.kind !== 'overtaken') {
    throw new Error(`The Task could not be completed (${ended.kind}); it will be retried.`);
  }
}

async function run(medplum: MedplumClient, task: Task): Promise<void> {
  const job = jobIn(task);
  if (!job) {
    return;
  }
  const result = await bookAppointment(
    medplum,
    parseBookRequest(job.body, config),
    {
      id: job.requestor,
      reference: job.requester,
      role: job.role,
      limits: ['open'],
      narrow: (state) => visibleTo(job, state, config),
    },
    { extend: (transaction, newId) => completing(transaction, task, newId) },
  );
  if (result.kind === 'existing') {
    await end(medplum, completedBy(task, result.appointment));
  }
  if (result.kind === 'refused') {
    if (isTransient(result.issues) && Date.now() - Date.parse(task.meta?.lastUpdated ?? '') < LONGEST) {
      throw new Error(result.issues.map(({ diagnostics }) => diagnostics).join(' '));
    }
    await end(medplum, failed(task, toOperationOutcome(result.issues, config)));
  }
}

/**
 * After this time (a day, in milliseconds), a job that could not be carried out is refused, with the reason as its
 * result.
 */
const LONGEST = 24 * 60 * 60_000;

/** In random order, so that a job that keeps failing does not hold up those after it. */
function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);
}

async function readTasks(medplum: MedplumClient, query: Record<string, string>): Promise<Task[]> {
  const [found] = await readInTransaction(medplum, [`Task?${new URLSearchParams(query)}`]);
  return ofType('Task', found);
}

/**
 * Carries out an asynchronous booking. The transaction that books also completes the Task, so that the job books once even
 * if it runs several times. Medplum does not run a failed Bot again; therefore Medplum's cron also starts this Bot every
 * minute for unfinished jobs.
 *
 * @param event - input: the Task, as the Subscription delivers it, or the Bot itself, as the clock does
 * @throws Error when the server could not be reached, or conflicts with other requests persist: the job stays unfinished
 * @see specification 4.4, asynchronous execution
 */
export async function handler(medplum: MedplumClient, event: BotEvent<Task | Bot>): Promise<void> {
  const { input } = event;
  if (input.resourceType === 'Task') {
    const [task] = await readTasks(medplum, { _id: input.id ?? '' });
    return task && run(medplum, task);
  }
  const start = Date.now();
  // The process that claimed these jobs was killed, or could not reach the server.
  const left = shuffled(await readTasks(medplum, overdueQuery(Date.now(), config)));
  const failures: string[] = [];
  for (const task of left) {
    if (Date.now() - start > RUN_LIMIT) {
      break;
    }
    await run(medplum, task).catch((error: unknown) => failures.push(String(error)));
  }
  if (failures.length > 0) {
    throw new Error(failures.join('\n'));
  }
}
