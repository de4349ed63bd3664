import type { MedplumClient } from '@medplum/core';
import type { Bundle, OperationOutcome, Parameters } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome.ts';
import { isResource } from '../../fhir/resource.ts';
import { messageSubscription } from '../../notifications/message.ts';
import { config } from './config.ts';
import { exchange } from './exchange.ts';
import { refuse, type Subscriber, unavailable } from './subscriber.ts';

/** Whatever Medplum says against a websocket, the subscriber can only take another channel. */
function unsupported(outcome: OperationOutcome): Issue {
  const [reason] = outcome.issue;
  const diagnostics = `Medplum gives no websocket: ${reason?.details?.text ?? reason?.diagnostics ?? 'it does not say why'}.`;
  return { code: 'channel-unsupported', diagnostics, expression: 'Subscription.channel.type' };
}

/**
 * Lets the caller bind a websocket of Medplum to the messages of a Subscription. Medplum keeps the binding for an hour,
 * and checks with each message whether the caller may still read it.
 *
 * @param handshake - what the websocket is to be told once it is bound
 * @returns Parameters: `token` and `expiration` as Medplum gave them, `message-subscription` (the id of what Medplum
 *   keeps), and `handshake`
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/OperationDefinition-backport-subscription-get-ws-binding-token.html
 */
export async function bindingOf(
  medplum: MedplumClient,
  subscriptionId: string,
  handshake: Bundle,
  caller: Subscriber,
): Promise<Parameters | OperationOutcome> {
  const resource = messageSubscription(subscriptionId, caller.id, config);
  const entry = [{ request: { method: 'POST' as const, url: 'Subscription' }, resource }];
  const made = await exchange(medplum, { resourceType: 'Bundle', type: 'batch', entry });
  const created: unknown = made.kind === 'done' ? made.bundle.entry?.[0]?.resource : undefined;
  if (!isResource(created, 'Subscription')) {
    return refuse([unavailable]);
  }
  const url = medplum.fhirUrl('Subscription', created.id ?? '', '$get-ws-binding-token').toString();
  const response = await fetch(url, { headers: { authorization: caller.authorization } });
  const body: unknown = await response.json();
  if (isResource(body, 'OperationOutcome')) {
    return refuse([response.status === 400 ? unsupported(body) : unavailable]);
  }
  const given = isResource(body, 'Parameters') ? (body.parameter ?? []) : [];
  return {
    resourceType: 'Parameters',
    parameter: [
      ...given.filter(({ name }) => name === 'token' || name === 'expiration'),
      { name: 'message-subscription', valueString: created.id },
      { name: 'handshake', resource: handshake },
    ],
  };
}
