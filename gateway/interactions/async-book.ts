import type { OperationOutcome, Task } from '@medplum/fhirtypes';
import { bundleOf } from '../../core/booking/request/answer.ts';
import { idIn } from '../../core/fhir/reference.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { bookingResponse } from '../bots/booking-response.ts';
import { botProblem, callBot } from '../bots/call.ts';
import { ownRefusal, refusedByBot } from '../bots/error-response.ts';
import type { GatewayContext } from '../context.ts';
import { type FhirRequest, type Handler, withId } from '../handler.ts';
import { problem } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import { bodyOf, isSuccess, upstreamProblem } from '../medplum/errors.ts';
import { read } from './read.ts';

/** Seconds until the client should ask again. */
const RETRY_AFTER = '1';

function informational(diagnostics: string): OperationOutcome {
  return { resourceType: 'OperationOutcome', issue: [{ severity: 'information', code: 'informational', diagnostics }] };
}

/**
 * `POST /Appointment/$book` with `Prefer: respond-async`: the booking is stored as a job before the response is sent.
 *
 * @see specification 4.4; https://www.rfc-editor.org/rfc/rfc7240#section-4.1
 */
export const enqueueBooking: Handler = async (exchange, context) => {
  const { config } = context;
  const response = await callBot('enqueue-booking', exchange.body, exchange, context);
  const body = bodyOf(response);
  if (isResource(body, 'Task') && body.id) {
    const location = `${config.baseUrl}/async/${body.id}`;
    return {
      status: 202,
      headers: { 'content-location': location, 'preference-applied': 'respond-async', 'retry-after': RETRY_AFTER },
      resource: informational(`The booking was accepted; its result will be at ${location}.`),
    };
  }
  // The status is 202 only for a stored job: any other result of the Bot is a refusal or a failure.
  return ownRefusal(body, config) ?? botProblem(response, context);
};

/** The response to a read of a job in one status. */
type JobResponse = (task: Task, exchange: FhirRequest, context: GatewayContext) => Promise<FhirResponse>;

const waitingJob: JobResponse = async () => ({
  status: 202,
  headers: { 'retry-after': RETRY_AFTER, 'x-progress': 'The booking is waiting to be carried out.' },
});

/** The appointments as the caller may read them now; if one cannot be read, the response to that read. */
const completedJob: JobResponse = async ({ output = [{ type: {} }] }, exchange, context) => {
  const responses = await Promise.all(
    output.map(({ valueReference }) => {
      const params = { id: idIn(valueReference, 'Appointment') };
      return read('Appointment')({ ...exchange, params, header: () => undefined }, context);
    }),
  );
  const failed = responses.find(({ status }) => status !== 200);
  const [first = problem('bad-gateway', 'The result of the booking cannot be read.')] = failed ? [failed] : responses;
  const appointments = responses.flatMap(({ resource }) => (isResource(resource, 'Appointment') ? [resource] : []));
  return failed || appointments.length < 2
    ? first
    : { status: 200, resource: bundleOf(appointments, context.config.baseUrl) };
};

const failedJob: JobResponse = async ({ contained }, _exchange, { config }) => {
  const response = contained?.[0] && bookingResponse({ ...contained[0], id: undefined }, config);
  return response ?? problem('bad-gateway', 'The result of the booking cannot be read.');
};

const cancelledJob: JobResponse = async () => problem('not-found', 'The job was cancelled.');

const jobResponses: Readonly<Partial<Record<NonNullable<Task['status']>, JobResponse>>> = {
  requested: waitingJob,
  completed: completedJob,
  failed: failedJob,
  cancelled: cancelledJob,
};

/** `GET /async/{id}`: the result of a job, for the requestor that submitted it. */
export const readBookingJob: Handler = withId(async (id, exchange, context) => {
  const path = `fhir/R4/Task/${id}`;
  const found = await context.upstream.call({ method: 'GET', path, headers: exchange.upstreamHeaders });
  if ('status' in found && found.status === 403) {
    return problem('not-found');
  }
  if (!isSuccess(found)) {
    return upstreamProblem(found, context.config);
  }
  const task = isResource(found.body, 'Task') ? found.body : undefined;
  const respond = task?.status && jobResponses[task.status];
  return task && respond ? respond(task, exchange, context) : problem('not-found');
});

/** `DELETE /async/{id}`: drops a job that has not booked yet. */
export const cancelBookingJob: Handler = withId(async (id, exchange, context) => {
  const input = { resourceType: 'Parameters', parameter: [{ name: 'id', valueId: id }] };
  const response = await callBot('cancel-booking-job', input, exchange, context);
  if (isSuccess(response) && isResource(response.body, 'Task')) {
    const isDropped = response.body.status === 'cancelled';
    const text = isDropped ? 'The job was cancelled.' : 'The job has already finished; what it booked stays booked.';
    return { status: 202, resource: informational(text) };
  }
  return refusedByBot(response, context);
});
