import '../../../config.ts';
import { expect, it } from '@jest/globals';
import type { Bundle, Communication } from '@medplum/fhirtypes';
import { sendWebsocketMessage } from '../../../../../bots/lib/notifications/delivery/websocket-message.ts';
import { requestorTag } from '../../../../../core/fhir/tags.ts';
import { notificationIn } from '../../../../../core/notifications/delivery/message.ts';
import { portal } from '../../../../core/notifications/support.ts';
import { config } from '../../../config.ts';
import { withMedplum } from '../../../medplum.ts';
import { subscribe } from '../outboxes.ts';

const medplum = withMedplum();

const bundle = (id: string): Bundle => ({ resourceType: 'Bundle', type: 'history', id });

async function listening() {
  const { id } = await subscribe(medplum());
  return {
    send: (one: Bundle) => sendWebsocketMessage(medplum().medplum, id, portal, one),
    messages: () => medplum().find<Communication>(`Communication?part-of=Subscription/${id}`),
  };
}

it('each notification of a Subscription is a version of its one message, which its owner may read', async () => {
  const { send, messages } = await listening();
  expect(await send(bundle('one'))).toBeUndefined();
  const [first] = await messages();
  expect(notificationIn(first)).toEqual(bundle('one'));
  expect(first?.meta?.tag).toEqual([requestorTag(portal, config)]);
  expect(await send(bundle('two'))).toBeUndefined();
  const all = await messages();
  expect(all.map(({ id }) => id)).toEqual([first?.id]);
  expect(notificationIn(all[0])).toEqual(bundle('two'));
});
