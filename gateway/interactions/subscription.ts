import { callBot } from '../bots/call.ts';
import { refusedByBot } from '../bots/error-response.ts';
import type { GatewayContext } from '../context.ts';
import { type FhirRequest, type Handler, withId } from '../handler.ts';
import { refusal } from '../http/errors.ts';
import { ifMatchVersion } from '../http/if-match.ts';
import { type FhirResponse, preferred, written } from '../http/response.ts';
import { bodyOf } from '../medplum/errors.ts';
import { publicResource } from '../medplum/public-resources.ts';

async function callSubscribe(
  input: object,
  status: number,
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<FhirResponse> {
  const response = await callBot('write-subscription', input, exchange, context);
  const resource = publicResource(bodyOf(response), 'Subscription');
  return resource
    ? preferred(written(status, resource, context.config.baseUrl), exchange.returnPreference)
    : refusedByBot(response, context);
}

/**
 * `POST /Subscription`: hands a Subscription to the Bot that checks and stores it.
 *
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/index.html
 */
export const createSubscription: Handler = (exchange, context) =>
  callSubscribe({ interaction: 'create', resource: exchange.body }, 201, exchange, context);

/** `PUT /Subscription/{id}`: changes a Subscription of the caller. */
export const updateSubscription: Handler = withId(async (id, exchange, context) => {
  const ifMatch = ifMatchVersion(exchange.header('if-match'));
  if ('code' in ifMatch) {
    return refusal([ifMatch], context.config);
  }
  const input = { interaction: 'update', id, version: ifMatch.version, resource: exchange.body };
  return callSubscribe(input, 200, exchange, context);
});

/** `DELETE /Subscription/{id}`: ends a Subscription of the caller. */
export const deleteSubscription: Handler = withId(async (id, exchange, context) => {
  const response = await callBot('write-subscription', { interaction: 'delete', id }, exchange, context);
  const isDone = publicResource(bodyOf(response), 'Subscription') !== undefined;
  return isDone ? { status: 204 } : refusedByBot(response, context);
});
