import { preferred } from './answer.ts';
import { submit } from './async.ts';
import { bookingAnswer } from './book-answer.ts';
import { botProblem, callBot } from './call-bot.ts';
import type { Handler } from './exchange.ts';

/**
 * `POST /Appointment/$book`: hands the body to the Bot `book` with the caller's own token and answers with what came of
 * it; with `Prefer: respond-async` the booking is only accepted. Every rule is the Bots'.
 *
 * @see specification 4.4
 */
export const book: Handler = async (exchange, context) => {
  if (exchange.prefersAsync) {
    return submit(exchange, context);
  }
  const answer = await callBot('book', exchange.body, exchange, context);
  const booking = 'failure' in answer ? undefined : bookingAnswer(answer.body, context.config);
  return booking ? preferred(booking, exchange.returnPreference) : botProblem(answer, context);
};
