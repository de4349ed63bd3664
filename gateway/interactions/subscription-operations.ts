import type { Parameters } from '@medplum/fhirtypes';
import type { Issue } from '../../core/fhir/outcome/outcome.ts';
import { isId } from '../../core/fhir/reference.ts';
import { parametersIn } from '../../core/fhir/resource.ts';
import { callBot } from '../bots/call.ts';
import { refusedByBot } from '../bots/error-response.ts';
import type { GatewayContext } from '../context.ts';
import { type FhirRequest, type Handler, withId } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import { nameOf } from '../medplum/current-profile.ts';
import { bodyOf } from '../medplum/errors.ts';
import { isBundle } from '../medplum/public-resources.ts';
import { searchIssue } from '../search/parameters/param.ts';
import { parseQuery } from '../search/rewrite.ts';
import { websocketUrl } from '../websocket/endpoint.ts';
import { bindingIn } from '../websocket/messages.ts';

/** A primitive value as text. */
const primitive = (value: unknown): string[] =>
  typeof value === 'string' || typeof value === 'number' ? [String(value)] : [];

/** The values of an operation's parameter, from the query and from a Parameters resource in the body. */
function valuesOf({ query, body }: FhirRequest, name: string): string[] {
  const asked = parseQuery(query).filter((parameter) => parameter.name === name);
  const given = parametersIn(body).filter((parameter) => parameter.name === name);
  return [
    ...asked.flatMap(({ value }) => value.split(',')),
    ...given.flatMap((parameter) => primitive(Object.entries(parameter).find(([key]) => key.startsWith('value'))?.[1])),
  ].filter((value) => value !== '');
}

/** Makes a handler that refuses all parameters except these and those of the format (400). */
const withParameters =
  (allowed: readonly string[], handler: Handler): Handler =>
  async (exchange, context) => {
    const sent = [...parseQuery(exchange.query), ...parametersIn(exchange.body)].map(({ name }) => String(name));
    const unknown = sent.filter((name) => ![...allowed, '_format', '_pretty'].includes(name));
    const diagnostics = `The operation has ${allowed.length > 0 ? `only the parameters ${allowed.join(', ')}` : 'no parameters'}.`;
    return unknown.length > 0
      ? refusal(
          unknown.map((name) => searchIssue(name, diagnostics)),
          context.config,
        )
      : handler(exchange, context);
  };

async function callReport(input: object, exchange: FhirRequest, context: GatewayContext): Promise<FhirResponse> {
  const response = await callBot('subscription-operations', input, exchange, context);
  const bundle = bodyOf(response);
  return isBundle(bundle) ? { status: 200, resource: bundle } : refusedByBot(response, context);
}

/**
 * `$status`: the state of one Subscription, or of several of the caller's own (`id`, `status`).
 *
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/OperationDefinition-backport-subscription-status.html
 */
export const subscriptionStatus = withParameters(['id', 'status'], async (exchange, context) => {
  const { id } = exchange.params;
  if (id !== undefined) {
    return isId(id) ? callReport({ operation: 'status', id }, exchange, context) : problem('not-found');
  }
  const ids = valuesOf(exchange, 'id').map((value) => value.replace(/^.*\//, ''));
  return callReport({ operation: 'status', ids, statuses: valuesOf(exchange, 'status') }, exchange, context);
});

/** `$deliver`: lets staff have waiting notifications sent now; a Subscription in error becomes `requested` again. */
export const deliverNow = withParameters(
  [],
  withId((id, exchange, context) => callReport({ operation: 'deliver', id }, exchange, context)),
);

/** The event number in a parameter, none if it is absent; or the issue. */
function eventNumber(exchange: FhirRequest, name: string): { readonly number?: number } | Issue {
  const [value] = valuesOf(exchange, name);
  if (value === undefined) {
    return {};
  }
  return /^\d{1,9}$/.test(value)
    ? { number: Number(value) }
    : {
        code: 'malformed-request',
        diagnostics: `${name} must be the number of an event, not '${value}'.`,
        expression: `http.${name}`,
      };
}

/**
 * `$events`: the events with numbers in a range; for clients that have missed a notification.
 *
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/OperationDefinition-backport-subscription-events.html
 */
export const subscriptionEvents = withParameters(
  ['eventsSinceNumber', 'eventsUntilNumber', 'content'],
  withId(async (id, exchange, context) => {
    const since = eventNumber(exchange, 'eventsSinceNumber');
    const until = eventNumber(exchange, 'eventsUntilNumber');
    const issues = [since, until].flatMap((bound) => ('code' in bound ? [bound] : []));
    if ('code' in since || 'code' in until) {
      return refusal(issues, context.config);
    }
    const [content] = valuesOf(exchange, 'content');
    const input = { operation: 'events', id, since: since.number, until: until.number, content };
    return callReport(input, exchange, context);
  }),
);

/**
 * `$get-ws-binding-token`: the token that binds a websocket to a Subscription, and the URL of the websocket. The token is
 * sealed: it binds a websocket of this service and is not an access token.
 *
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/OperationDefinition-backport-subscription-get-ws-binding-token.html
 */
export const websocketToken = withParameters(
  ['id'],
  withId(async (id, exchange, context) => {
    const response = await callBot('subscription-operations', { operation: 'binding', id }, exchange, context);
    const binding = exchange.caller && bindingIn(bodyOf(response), nameOf(exchange.caller));
    if (!binding) {
      return refusedByBot(response, context);
    }
    const resource: Parameters = {
      resourceType: 'Parameters',
      parameter: [
        { name: 'token', valueString: context.bindingTokens.seal(binding) },
        { name: 'expiration', valueDateTime: binding.expiration },
        { name: 'subscription', valueString: id },
        { name: 'websocket-url', valueUrl: websocketUrl(context.config) },
      ],
    };
    return { status: 200, resource };
  }),
);
