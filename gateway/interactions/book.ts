import { ANSWER_HEADER, AS_PARAMETERS, VERSION_HEADER } from '../../core/booking/request/answer.ts';
import { asksForDryRun } from '../../core/booking/request/request.ts';
import type { Issue } from '../../core/fhir/outcome/outcome.ts';
import { queueKeys } from '../booking-queue.ts';
import { bookingResponse } from '../bots/booking-response.ts';
import { botProblem, callBot } from '../bots/call.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest, Handler } from '../handler.ts';
import { refusal } from '../http/errors.ts';
import { ifMatchVersion } from '../http/if-match.ts';
import { type FhirResponse, preferred } from '../http/response.ts';
import type { MedplumResponse, UpstreamFailure } from '../medplum/client.ts';
import { nameOf } from '../medplum/current-profile.ts';
import { bodyOf } from '../medplum/errors.ts';
import { enqueueBooking } from './async-book.ts';

/** The response to a booking, a hold or an entry of the waitlist. */
function bookingAnswer(
  response: MedplumResponse | UpstreamFailure,
  { returnPreference }: FhirRequest,
  context: GatewayContext,
): FhirResponse {
  const booking = bookingResponse(bodyOf(response), context.config);
  return booking ? preferred(booking, returnPreference) : botProblem(response, context);
}

const notLater: Issue = {
  code: 'malformed-request',
  diagnostics: 'If-Match cannot be combined with Prefer: respond-async: the appointment may change until the job runs.',
  expression: 'http.If-Match',
};

/**
 * `POST /Appointment/$book`: calls the Bot `book`, which has all rules, with the caller's token. With
 * `Prefer: respond-async` the booking is only accepted, unless it is a dry run. Bookings of the same slot by one caller
 * are queued. With `If-Match`, an appointment is moved only if it has that version; otherwise the status is 412.
 *
 * @see specification 4.4
 */
export const book: Handler = async (exchange, context) => {
  const ifMatch = ifMatchVersion(exchange.header('if-match'));
  if ('code' in ifMatch) {
    return refusal([ifMatch], context.config);
  }
  if (exchange.prefersAsync && !asksForDryRun(exchange.body)) {
    return ifMatch.version === undefined ? enqueueBooking(exchange, context) : refusal([notLater], context.config);
  }
  const { version } = ifMatch;
  const response = await context.bookingQueue.take(queueKeys(exchange.body, nameOf(exchange.caller)), () =>
    callBot('book', exchange.body, exchange, context, {
      ...context.leads.headersFor(exchange.body),
      [ANSWER_HEADER]: AS_PARAMETERS,
      ...(version !== undefined && { [VERSION_HEADER]: version }),
    }),
  );
  return bookingAnswer(response, exchange, context);
};

/**
 * `POST /Appointment/$hold`: calls the Bot `hold`, which has all rules, with the caller's token. Holds and bookings of
 * the same slot by one caller are queued. So are all its holds, because they are counted.
 */
export const hold: Handler = async (exchange, context) => {
  const name = nameOf(exchange.caller);
  const response = await context.bookingQueue.take([...queueKeys(exchange.body, name), `$hold ${name}`], () =>
    callBot('hold', exchange.body, exchange, context, {
      ...context.leads.headersFor(exchange.body),
      [ANSWER_HEADER]: AS_PARAMETERS,
    }),
  );
  return bookingAnswer(response, exchange, context);
};

/**
 * `POST /Appointment/$waitlist`: puts a person on the waitlist. The Bot has all rules. Requests of one caller are
 * queued, because its entries are counted.
 */
export const joinWaitlist: Handler = async (exchange, context) => {
  const response = await context.bookingQueue.take([`$waitlist ${nameOf(exchange.caller)}`], () =>
    callBot('join-waitlist', exchange.body, exchange, context, { [ANSWER_HEADER]: AS_PARAMETERS }),
  );
  return bookingAnswer(response, exchange, context);
};
