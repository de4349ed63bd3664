import type { BotEvent, MedplumClient } from '@medplum/core';
import type { OperationOutcome, Task } from '@medplum/fhirtypes';
import { isRefusedAtOnce, taskOf } from '../../core/booking/jobs/booking-task.ts';
import { parseBookRequest } from '../../core/booking/request/request.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { type Issue, toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { isId } from '../../core/fhir/reference.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { withAlternatives } from '../lib/booking/alternatives.ts';
import { decideBooking } from '../lib/booking/decide.ts';
import { callerOf, readRole } from '../lib/caller.ts';
import { config } from '../lib/config.ts';
import { sendTransaction } from '../lib/medplum.ts';
import { ReadError } from '../lib/read.ts';

const notStored: Issue = {
  code: 'upstream-unavailable',
  diagnostics: 'The booking could not be accepted. Nothing was booked; try again in a moment.',
};

const dryRun: Issue = {
  code: 'malformed-request',
  diagnostics: 'A dry run is answered at once: send it without Prefer: respond-async.',
  expression: 'Parameters.parameter',
};

/**
 * Accepts an asynchronous booking. A request that is malformed, or references a resource that the caller cannot see, is
 * refused at once; any other is stored as a Task before the response is sent.
 * @param event - input: the body of `$book`; headers: those of the request, for the caller's credentials
 * @returns the Task, whose id names the job, or an OperationOutcome whose id stands for the HTTP status
 * @see specification 4.4, asynchronous execution
 */
export async function handler(medplum: MedplumClient, event: BotEvent<unknown>): Promise<Task | OperationOutcome> {
  const refuse = (issues: readonly Issue[]): OperationOutcome => toOperationOutcome(issues, config);
  const parsed = parseBookRequest(event.input, config);
  const caller = callerOf(event);
  if (!parsed.request) {
    return refuse(parsed.issues);
  }
  if (parsed.request.isDryRun) {
    return refuse([dryRun]);
  }
  const changed = parsed.request.appointments
    .flatMap(({ appointment, replaced }) => [appointment.value.id, ...replaced.map(({ value }) => value)])
    .filter(isId);
  const role = await readRole(medplum, caller.authorization, changed).catch((error: unknown) => {
    if (error instanceof ReadError) {
      return undefined;
    }
    throw error;
  });
  if (!role) {
    return refuse([notStored]);
  }
  const { plan, state } = await decideBooking(
    medplum,
    { ...parsed, request: parsed.request },
    { ...caller, role, limits: ['open', 'rate', 'jobs'] },
  );
  if (plan.kind === 'refuse' && isRefusedAtOnce(plan.issues)) {
    return refuse(await withAlternatives(medplum, plan.issues, parsed.request, { state }, { ...caller, role }));
  }
  const booker = { requestor: caller.id, requester: caller.reference, role };
  const resource = { ...taskOf(event.input, booker, state, config), authoredOn: formatInstant(Date.now()) };
  const stored = await sendTransaction(medplum, [{ request: { method: 'POST', url: 'Task' }, resource }]);
  const task = stored.kind === 'done' ? stored.bundle.entry?.[0]?.resource : undefined;
  return isResource(task, 'Task')
    ? { ...task, input: undefined }
    : refuse([stored.kind === 'lost' ? stored.issue : notStored]);
}
