import { ANSWER_HEADER, AS_PARAMETERS } from '../../core/booking/book/answer.ts';
import { queueKeys } from '../booking-queue.ts';
import { bookingResponse } from '../bots/booking-response.ts';
import { botProblem, callBot } from '../bots/call.ts';
import type { Handler } from '../handler.ts';
import { preferred } from '../http/response.ts';
import { enqueueBooking } from './async-book.ts';

const answerWithParameters = { [ANSWER_HEADER]: AS_PARAMETERS };

/**
 * `POST /Appointment/$book`: hands the body to the Bot `book` with the caller's own token and answers with what came of
 * it; with `Prefer: respond-async` the booking is only accepted. Every rule is the Bots'. Bookings of the same slot take
 * turns.
 *
 * @see specification 4.4
 */
export const book: Handler = async (exchange, context) => {
  if (exchange.prefersAsync) {
    return enqueueBooking(exchange, context);
  }
  const keys = queueKeys(exchange.body);
  const answer = await context.turns.take(keys, () =>
    callBot('book', exchange.body, exchange, context, answerWithParameters),
  );
  const booking = 'failure' in answer ? undefined : bookingResponse(answer.body, context.config);
  return booking ? preferred(booking, exchange.returnPreference) : botProblem(answer, context);
};
