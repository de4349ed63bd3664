import { isResource } from '../../core/fhir/resource.ts';
import { callBot } from '../bots/call.ts';
import { refusedByBot } from '../bots/error-response.ts';
import type { Handler } from '../handler.ts';
import { nameOf } from '../medplum/current-profile.ts';
import { bodyOf } from '../medplum/errors.ts';

/**
 * `POST /Appointment/$find`: proposes visits that the caller can book now. Every rule is the Bot's. One caller's searches
 * take turns: each may read much.
 */
export const findVisits: Handler = async (exchange, context) => {
  const name = exchange.caller ? nameOf(exchange.caller) : '';
  const answer = await context.turns.take([`$find ${name}`], () =>
    callBot('find-visits', exchange.body, exchange, context),
  );
  const found = bodyOf(answer);
  return isResource(found, 'Bundle') ? { status: 200, resource: found } : refusedByBot(answer, context);
};
