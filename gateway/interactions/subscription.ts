import type { BookingConfig } from '../../core/config/config.ts';
import { isId } from '../../core/fhir/reference.ts';
import { callBot } from '../bots/call.ts';
import { refusedByBot } from '../bots/error-response.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest, Handler } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import { ifMatchVersion } from '../http/if-match.ts';
import { type FhirResponse, preferred, versionHeaders } from '../http/response.ts';
import { bodyOf } from '../medplum/errors.ts';
import { publicResource } from '../medplum/public-resources.ts';

function written(status: number, body: unknown, config: BookingConfig): FhirResponse | undefined {
  const resource = publicResource(body, 'Subscription');
  if (!resource) {
    return undefined;
  }
  const location: Record<string, string> =
    status === 201 ? { location: `${config.baseUrl}/Subscription/${resource.id}` } : {};
  return { status, headers: { ...location, ...versionHeaders(resource) }, resource };
}

async function callSubscribe(
  input: object,
  status: number,
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<FhirResponse> {
  const answer = await callBot('write-subscription', input, exchange, context);
  const done = written(status, bodyOf(answer), context.config);
  return done ? preferred(done, exchange.returnPreference) : refusedByBot(answer, context);
}

/**
 * `POST /Subscription`: hands a Subscription to the Bot that checks and stores it.
 *
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/index.html
 */
export const createSubscription: Handler = (exchange, context) =>
  callSubscribe({ interaction: 'create', resource: exchange.body }, 201, exchange, context);

/** `PUT /Subscription/{id}`: changes a Subscription of the caller. */
export const updateSubscription: Handler = async (exchange, context) => {
  const { id } = exchange.params;
  const ifMatch = ifMatchVersion(exchange.header('if-match'));
  if (!isId(id)) {
    return problem('not-found');
  }
  if ('code' in ifMatch) {
    return refusal([ifMatch], context.config);
  }
  const input = { interaction: 'update', id, version: ifMatch.version, resource: exchange.body };
  return callSubscribe(input, 200, exchange, context);
};

/** `DELETE /Subscription/{id}`: ends a Subscription of the caller. */
export const deleteSubscription: Handler = async (exchange, context) => {
  const { id } = exchange.params;
  if (!isId(id)) {
    return problem('not-found');
  }
  const answer = await callBot('write-subscription', { interaction: 'delete', id }, exchange, context);
  const isDone = publicResource(bodyOf(answer), 'Subscription') !== undefined;
  return isDone ? { status: 204 } : refusedByBot(answer, context);
};
