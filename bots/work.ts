import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Bundle, BundleEntry, Task } from '@medplum/fhirtypes';
import { completedBy, completing, failed, jobIn, visibleTo } from '../booking/job.ts';
import { parseBookRequest } from '../booking/request.ts';
import { statusOf, toOperationOutcome } from '../fhir/outcome.ts';
import { carryOut } from './booking.ts';
import { config } from './config.ts';
import { exchange } from './exchange.ts';

async function end(medplum: MedplumClient, entry: BundleEntry): Promise<void> {
  const bundle: Bundle = { resourceType: 'Bundle', type: 'transaction', entry: [entry] };
  const ended = await exchange(medplum, bundle);
  if (ended.kind === 'failed' || ended.kind === 'invalid') {
    throw new Error(`The Task could not be ended (${ended.kind}); it will be tried again.`);
  }
}

/**
 * Carries out an asynchronous booking. The Task is completed in the transaction that books, so that the job may be run
 * any number of times and books once; whoever ends the Task first wins.
 *
 * @param event - input: the Task, as the Subscription delivers it
 * @throws Error when the server could not be reached or others were faster too often: Medplum's queue tries again
 * @see specification 4.4, asynchronous execution
 */
export async function handler(medplum: MedplumClient, event: BotEvent<Task>): Promise<void> {
  const task = await medplum.readResource('Task', event.input.id ?? '', { cache: 'reload' });
  const job = jobIn(task);
  if (!job) {
    return;
  }
  const result = await carryOut(
    medplum,
    parseBookRequest(job.body, config),
    { id: job.requestor, narrow: (state) => visibleTo(job, state, config) },
    (transaction, newId) => completing(transaction, task, newId),
  );
  if (result.kind === 'existing') {
    await end(medplum, completedBy(task, result.appointment));
  }
  if (result.kind === 'refused') {
    const isTransient = statusOf(result.issues) >= 500 || result.issues.some(({ code }) => code === 'booking-conflict');
    if (isTransient) {
      throw new Error(result.issues.map(({ diagnostics }) => diagnostics).join(' '));
    }
    await end(medplum, failed(task, toOperationOutcome(result.issues, config)));
  }
}
