import type { BotEvent, MedplumClient } from '@medplum/core';
import type { OperationOutcome, Parameters, Task } from '@medplum/fhirtypes';
import { endTask } from '../core/booking/async/task.ts';
import { belongsTo } from '../core/fhir/tags.ts';
import { callerOf } from './lib/caller.ts';
import { config } from './lib/config.ts';
import { sendBundle } from './lib/medplum.ts';

const notFound: OperationOutcome = {
  resourceType: 'OperationOutcome',
  id: 'not-found',
  issue: [{ severity: 'error', code: 'not-found', diagnostics: 'There is no such job.' }],
};

/**
 * Drops an asynchronous booking that was not carried out yet. One that has ended stays as it is.
 *
 * @param event - input: Parameters with the parameter `id`, the job's id
 * @returns the Task as it is then, or `not-found` if it does not belong to the caller
 */
export async function handler(medplum: MedplumClient, event: BotEvent<Parameters>): Promise<Task | OperationOutcome> {
  const id = event.input.parameter?.find(({ name }) => name === 'id')?.valueId ?? '';
  const [task] = await medplum.searchResources('Task', `_id=${encodeURIComponent(id)}`, { cache: 'reload' });
  if (!task || !belongsTo(task, callerOf(event).id, config)) {
    return notFound;
  }
  if (task.status === 'requested') {
    const entry = [endTask(task, { status: 'cancelled' })];
    await sendBundle(medplum, { resourceType: 'Bundle', type: 'transaction', entry });
  }
  return { ...(await medplum.readResource('Task', task.id, { cache: 'reload' })), input: undefined };
}
