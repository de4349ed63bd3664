import { ANSWER_HEADER, AS_PARAMETERS } from '../../core/booking/book/answer.ts';
import { queueKeys } from '../booking-queue.ts';
import { bookingResponse } from '../bots/booking-response.ts';
import { botProblem, callBot } from '../bots/call.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest, Handler } from '../handler.ts';
import { type FhirResponse, preferred } from '../http/response.ts';
import { nameOf } from '../medplum/current-profile.ts';
import { bodyOf } from '../medplum/errors.ts';

/**
 * `POST /Appointment/$hold`: hands the body to the Bot `hold` with the caller's own token and answers with the result.
 * Every rule is the Bot's. One caller's holds and bookings of the same slot take turns, and so do all its holds, which are
 * counted.
 */
export const hold: Handler = (exchange, context) => callHold(exchange, context);

/** @param headers - for the Bot, besides those of the request */
export async function callHold(
  exchange: FhirRequest,
  context: GatewayContext,
  headers: Readonly<Record<string, string>> = {},
): Promise<FhirResponse> {
  const name = exchange.caller ? nameOf(exchange.caller) : '';
  const answer = await context.turns.take([...queueKeys(exchange.body, name), `$hold ${name}`], () =>
    callBot('hold', exchange.body, exchange, context, {
      ...context.leads.headersFor(exchange.body),
      [ANSWER_HEADER]: AS_PARAMETERS,
      ...headers,
    }),
  );
  const held = bookingResponse(bodyOf(answer), context.config);
  return held ? preferred(held, exchange.returnPreference) : botProblem(answer, context);
}
