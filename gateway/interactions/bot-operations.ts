import type { CallableBot } from '../../core/config/bots.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { callBot } from '../bots/call.ts';
import { refusedByBot } from '../bots/error-response.ts';
import type { Handler } from '../handler.ts';
import { nameOf } from '../medplum/current-profile.ts';
import { bodyOf } from '../medplum/errors.ts';

/** Calls a Bot with the body; the result is a resource of the given type. */
const answerOf =
  (bot: CallableBot, type: 'Parameters' | 'Bundle'): Handler =>
  async (exchange, context) => {
    const response = await callBot(bot, exchange.body, exchange, context);
    const body = bodyOf(response);
    return isResource(body, type) ? { status: 200, resource: body } : refusedByBot(response, context);
  };

/** `POST /Appointment/$answer`: a person's reply to a message, by the link in it. The Bot has all rules. */
export const replyToMessage = answerOf('answer-message', 'Parameters');

/**
 * `POST /Schedule/$feed`: the calendar feed of a secret link, or a change of the link by staff. The Bot has all rules.
 */
export const calendarFeed = answerOf('calendar-feed', 'Parameters');

/** `POST /Schedule/$absence`: an absence of staff. The Bot has all rules. */
export const planAbsence = answerOf('absence', 'Parameters');

const proposeVisits = answerOf('find-visits', 'Bundle');

/**
 * `POST /Appointment/$find`: proposes visits that the caller can book now. The Bot has all rules. Searches of one
 * caller are queued, because each may read much.
 */
export const findVisits: Handler = (exchange, context) =>
  context.bookingQueue.take([`$find ${nameOf(exchange.caller)}`], () => proposeVisits(exchange, context));
