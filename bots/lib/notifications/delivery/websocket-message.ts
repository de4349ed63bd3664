import type { MedplumClient } from '@medplum/core';
import type { Bundle } from '@medplum/fhirtypes';
import { messageQuery, messageResource } from '../../../../core/notifications/delivery/message.ts';
import { config } from '../../config.ts';
import { sendBundle } from '../../medplum.ts';
import { ofType, readInTransaction } from '../../read.ts';

/**
 * Passes a notification to the websockets that are bound to a Subscription: Medplum sends them the message that is written
 * here. Subscribers without a bound websocket use `$events`.
 *
 * @param owner - id of the profile that owns the Subscription
 * @returns the problem, or `undefined`
 */
export async function sendWebsocketMessage(
  medplum: MedplumClient,
  subscriptionId: string,
  owner: string,
  bundle: Bundle,
): Promise<string | undefined> {
  const [found] = await readInTransaction(medplum, [messageQuery(subscriptionId, config)]);
  const [stored] = ofType('Communication', found);
  const request = stored
    ? ({ method: 'PUT', url: `Communication/${stored.id}` } as const)
    : ({ method: 'POST', url: 'Communication' } as const);
  const resource = messageResource(bundle, subscriptionId, owner, config, stored);
  const written = await sendBundle(medplum, { resourceType: 'Bundle', type: 'batch', entry: [{ request, resource }] });
  const status = written.kind === 'done' ? written.bundle.entry?.[0]?.response?.status : undefined;
  return status?.startsWith('2') ? undefined : `The message could not be written (${status ?? written.kind}).`;
}
