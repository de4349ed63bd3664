import type { MedplumClient } from '@medplum/core';
import type { Bundle, OperationOutcome, Parameters } from '@medplum/fhirtypes';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { messageSubscription } from '../../../core/notifications/delivery/message.ts';
import { config } from '../config.ts';
import { type BotResponse, get, sendBundle } from '../medplum.ts';
import { refuse, type Subscriber, unavailable } from './subscriber.ts';

/** Whatever Medplum's reason, the subscriber can only use another channel. */
function unsupported(outcome: OperationOutcome): Issue {
  const [reason] = outcome.issue;
  const diagnostics = `Medplum did not issue a websocket token: ${reason?.details?.text ?? reason?.diagnostics ?? 'no reason given'}.`;
  return { code: 'channel-unsupported', diagnostics, expression: 'Subscription.channel.type' };
}

function askForToken(
  medplum: MedplumClient,
  id: string,
  { authorization }: Subscriber,
): Promise<BotResponse | undefined> {
  const url = medplum.fhirUrl('Subscription', id, '$get-ws-binding-token').toString();
  return get(medplum, url, { authorization });
}

/**
 * Lets the caller bind a websocket of Medplum to the messages of a Subscription. Medplum keeps the binding for an hour,
 * and checks with each message whether the caller may still read it.
 * @param handshake - the notification that the websocket is sent once it is bound
 * @returns Parameters: `token` and `expiration` as Medplum gave them, `message-subscription` (the id of the Subscription
 *   that Medplum keeps), and `handshake`
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/OperationDefinition-backport-subscription-get-ws-binding-token.html
 */
export async function createBindingToken(
  medplum: MedplumClient,
  subscriptionId: string,
  handshake: Bundle,
  caller: Subscriber,
): Promise<Parameters | OperationOutcome> {
  const resource = messageSubscription(subscriptionId, caller.id, config);
  const entry = [{ request: { method: 'POST' as const, url: 'Subscription' }, resource }];
  const made = await sendBundle(medplum, { resourceType: 'Bundle', type: 'batch', entry });
  const created: unknown = made.kind === 'done' ? made.bundle.entry?.[0]?.resource : undefined;
  if (!isResource(created, 'Subscription')) {
    return refuse([unavailable]);
  }
  const response = await askForToken(medplum, created.id ?? '', caller);
  const body = response?.body;
  if (response?.status === 400 && isResource(body, 'OperationOutcome')) {
    return refuse([unsupported(body)]);
  }
  if (!isResource(body, 'Parameters')) {
    return refuse([unavailable]);
  }
  return {
    resourceType: 'Parameters',
    parameter: [
      ...(body.parameter ?? []).filter(({ name }) => name === 'token' || name === 'expiration'),
      { name: 'message-subscription', valueString: created.id },
      { name: 'handshake', resource: handshake },
    ],
  };
}
