import { ANSWER_HEADER, AS_PARAMETERS } from '../../core/booking/book/answer.ts';
import { bookingResponse } from '../bots/booking-response.ts';
import { botProblem, callBot } from '../bots/call.ts';
import type { Handler } from '../handler.ts';
import { preferred } from '../http/response.ts';
import { nameOf } from '../medplum/current-profile.ts';
import { bodyOf } from '../medplum/errors.ts';

/**
 * `POST /Appointment/$waitlist`: puts a person on the waitlist. Every rule is the Bot's. One caller's requests take turns:
 * entries are counted.
 */
export const joinWaitlist: Handler = async (exchange, context) => {
  const name = exchange.caller ? nameOf(exchange.caller) : '';
  const answer = await context.turns.take([`$waitlist ${name}`], () =>
    callBot('join-waitlist', exchange.body, exchange, context, { [ANSWER_HEADER]: AS_PARAMETERS }),
  );
  const joined = bookingResponse(bodyOf(answer), context.config);
  return joined ? preferred(joined, exchange.returnPreference) : botProblem(answer, context);
};
