import { isResource } from '../../core/fhir/resource.ts';
import { callBot } from '../bots/call.ts';
import { refusedByBot } from '../bots/error-response.ts';
import type { Handler } from '../handler.ts';
import { bodyOf } from '../medplum/errors.ts';

/** `POST /Appointment/$answer`: what a person answers to a message, by the link in it. Every rule is the Bot's. */
export const answerMessage: Handler = async (exchange, context) => {
  const answer = await callBot('answer-message', exchange.body, exchange, context);
  const body = bodyOf(answer);
  return isResource(body, 'Parameters') ? { status: 200, resource: body } : refusedByBot(answer, context);
};
