import { isResource } from '../../core/fhir/resource.ts';
import { callBot } from '../bots/call.ts';
import { refusedByBot } from '../bots/error-response.ts';
import type { Handler } from '../handler.ts';
import { bodyOf } from '../medplum/errors.ts';

/** Hands the body to a Bot, which answers with Parameters. */
const parametersOf =
  (bot: 'answer-message' | 'calendar-feed' | 'absence'): Handler =>
  async (exchange, context) => {
    const answer = await callBot(bot, exchange.body, exchange, context);
    const body = bodyOf(answer);
    return isResource(body, 'Parameters') ? { status: 200, resource: body } : refusedByBot(answer, context);
  };

/** `POST /Appointment/$answer`: what a person answers to a message, by the link in it. Every rule is the Bot's. */
export const answerMessage = parametersOf('answer-message');

/** `POST /Schedule/$feed`: the calendar of a secret link, or what staff want of such a link. Every rule is the Bot's. */
export const calendarFeed = parametersOf('calendar-feed');

/** `POST /Schedule/$absence`: what staff say of somebody who is absent. Every rule is the Bot's. */
export const planAbsence = parametersOf('absence');
