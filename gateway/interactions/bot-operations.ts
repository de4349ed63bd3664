import type { CallableBot } from '../../core/config/bots.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { callBot } from '../bots/call.ts';
import { refusedByBot } from '../bots/error-response.ts';
import type { Handler } from '../handler.ts';
import { nameOf } from '../medplum/current-profile.ts';
import { bodyOf } from '../medplum/errors.ts';

/** Hands the body to a Bot, which answers with a resource of this type. */
const answerOf =
  (bot: CallableBot, type: 'Parameters' | 'Bundle'): Handler =>
  async (exchange, context) => {
    const response = await callBot(bot, exchange.body, exchange, context);
    const body = bodyOf(response);
    return isResource(body, type) ? { status: 200, resource: body } : refusedByBot(response, context);
  };

/** `POST /Appointment/$answer`: what a person answers to a message, by the link in it. Every rule is the Bot's. */
export const replyToMessage = answerOf('answer-message', 'Parameters');

/** `POST /Schedule/$feed`: the calendar of a secret link, or what staff want of such a link. Every rule is the Bot's. */
export const calendarFeed = answerOf('calendar-feed', 'Parameters');

/** `POST /Schedule/$absence`: what staff say of somebody who is absent. Every rule is the Bot's. */
export const planAbsence = answerOf('absence', 'Parameters');

const proposeVisits = answerOf('find-visits', 'Bundle');

/**
 * `POST /Appointment/$find`: proposes visits that the caller can book now. Every rule is the Bot's. One caller's searches
 * take turns: each may read much.
 */
export const findVisits: Handler = (exchange, context) =>
  context.turns.take([`$find ${nameOf(exchange.caller)}`], () => proposeVisits(exchange, context));
