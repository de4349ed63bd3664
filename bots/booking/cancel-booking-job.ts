import type { BotEvent, MedplumClient } from '@medplum/core';
import type { OperationOutcome, Task } from '@medplum/fhirtypes';
import { endTask } from '../../core/booking/jobs/booking-task.ts';
import { isId } from '../../core/fhir/reference.ts';
import { isResource, parametersIn } from '../../core/fhir/resource.ts';
import { belongsTo } from '../../core/fhir/tags.ts';
import { callerOf } from '../lib/caller.ts';
import { config } from '../lib/config.ts';
import { retryOvertaken, sendTransaction } from '../lib/medplum.ts';
import { ofType, readInTransaction } from '../lib/read.ts';

const notFound: OperationOutcome = {
  resourceType: 'OperationOutcome',
  id: 'not-found',
  issue: [{ severity: 'error', code: 'not-found', diagnostics: 'There is no such job.' }],
};

/** Reads the job with its requestor's rights: only the Bots see the stored request. */
async function readTask(
  medplum: MedplumClient,
  id: string,
  authorization: string | undefined,
): Promise<Task | undefined> {
  const [found] = await readInTransaction(medplum, [`Task?_id=${encodeURIComponent(id)}`], { authorization });
  return ofType('Task', found)[0];
}

/** Tries once to cancel; returns the Task as it is stored afterwards, also if another process changed it first. */
async function tryCancel(
  medplum: MedplumClient,
  task: Task,
  authorization: string | undefined,
): Promise<Task | undefined> {
  const cancelled = await sendTransaction(medplum, [endTask(task, { status: 'cancelled' })]);
  const written: unknown = cancelled.kind === 'done' ? cancelled.bundle.entry?.[0]?.resource : undefined;
  return isResource(written, 'Task') ? written : readTask(medplum, task.id ?? '', authorization);
}

/** Cancels a waiting job. Retries if a booking attempt changes it at the same time; returns the latest Task. */
async function cancelUntilStarted(medplum: MedplumClient, task: Task, authorization: string | undefined) {
  let latest: Task | undefined = task;
  return retryOvertaken(
    async () => {
      latest = latest?.status === 'requested' ? await tryCancel(medplum, latest, authorization) : latest;
      return latest;
    },
    (result) => result?.status === 'requested',
  );
}

/**
 * Cancels an asynchronous booking that has not been carried out yet. A job that has ended is unchanged.
 * @param event - input: Parameters with the parameter `id`, the job's id
 * @returns the Task as it is afterwards, or `not-found` if it does not belong to the caller
 */
export async function handler(medplum: MedplumClient, event: BotEvent<unknown>): Promise<Task | OperationOutcome> {
  const id = parametersIn(event.input).find(({ name }) => name === 'id')?.valueId;
  const caller = callerOf(event);
  const task = isId(id) ? await readTask(medplum, id, caller.authorization) : undefined;
  if (!task || !belongsTo(task, caller.id, config)) {
    return notFound;
  }
  const latest = await cancelUntilStarted(medplum, task, caller.authorization);
  return latest ? { ...latest, input: undefined } : notFound;
}
