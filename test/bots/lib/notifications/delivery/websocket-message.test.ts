import '../../../config.ts';
import { expect, it } from '@jest/globals';
import type { Bundle, Communication } from '@medplum/fhirtypes';
import type { Answer } from '../../../../../bots/lib/medplum.ts';
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

it('Subscriptions have messages of their own', async () => {
  const [one, other] = [await listening(), await listening()];
  await one.send(bundle('one'));
  await other.send(bundle('other'));
  expect((await one.messages()).map(notificationIn)).toEqual([bundle('one')]);
  expect((await other.messages()).map(notificationIn)).toEqual([bundle('other')]);
});

const response = (...entry: object[]) => ({
  status: 200,
  body: { resourceType: 'Bundle', type: 'batch-response', entry },
});

it.each<[string, Answer | 'no-answer', string]>([
  ['is refused', response({ response: { status: '403' } }), '403'],
  ['has no answer', 'no-answer', 'lost'],
  ['has an answer that says nothing', response({}), 'done'],
  ['has an answer without entries', { status: 200, body: { resourceType: 'Bundle' } }, 'done'],
])('a message that %s is a problem', async (_, answer, reason) => {
  const { send } = await listening();
  medplum().interfere(({ type }) => (type === 'batch' ? answer : undefined));
  expect(await send(bundle('one'))).toBe(`The message could not be written (${reason}).`);
});

it('fails if Medplum does not say whether there is a message', async () => {
  const { send, messages } = await listening();
  medplum().interfere(() => 'no-answer');
  await expect(send(bundle('one'))).rejects.toThrow('The FHIR server could not be read.');
  expect(await messages()).toEqual([]);
});
