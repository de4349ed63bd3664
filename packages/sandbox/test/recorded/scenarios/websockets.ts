import WebSocket from 'ws';
import { scaled } from '../../../../../test/lib/time-scale.ts';
import type { Scenario } from '../scenario.ts';
import { patient } from './resources.ts';

/** Messages of a websocket in the order in which they come, without heartbeats. */
async function openSocket(url: string) {
  const socket = new WebSocket(url);
  const messages: unknown[] = [];
  let wake = (): void => undefined;
  socket.on('message', (data) => {
    const message: unknown = JSON.parse(data.toString());
    if (!JSON.stringify(message).includes('"heartbeat"')) {
      messages.push(message);
      wake();
    }
  });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return {
    send: (message: object) => socket.send(JSON.stringify(message)),
    async next(): Promise<unknown> {
      const limit = AbortSignal.timeout(scaled(10_000));
      while (messages.length === 0) {
        limit.throwIfAborted();
        await new Promise<void>((resolve) => {
          wake = resolve;
          limit.addEventListener('abort', () => resolve(), { once: true });
        });
      }
      return messages.shift();
    },
    close: () => socket.close(),
  };
}

/** A Subscription over websockets, from its creation to the messages. */
export const websocketSubscriptions: Scenario = async ({ admin: { send }, baseUrl, note, unique }) => {
  const made = await send('POST Subscription', {
    resourceType: 'Subscription',
    status: 'active',
    reason: 'Test',
    criteria: `Patient?identifier=urn:patient|${unique}`,
    channel: { type: 'websocket' },
  });
  await send(`GET Subscription/${made.id}`);
  await send(`GET Subscription/${made.id}/_history`);
  await send('GET Subscription/00000000-0000-4000-8000-000000000000/$get-ws-binding-token');
  const binding = await send(`GET Subscription/${made.id}/$get-ws-binding-token`);
  const { parameter } = binding.body as { parameter: { name: string; valueString?: string }[] };
  const token = parameter.find(({ name }) => name === 'token')?.valueString;
  const socket = await openSocket(`${baseUrl.replace('http', 'ws')}ws/subscriptions-r4`);
  socket.send({ type: 'bind-with-token', payload: { token } });
  note('websocket: bound', await socket.next());
  const stored = await send('POST Patient', patient(unique));
  note('websocket: created', await socket.next());
  await send(`PUT Patient/${stored.id}`, { ...stored.resource, active: true });
  note('websocket: updated', await socket.next());
  await send(`DELETE Patient/${stored.id}`);
  note('websocket: deleted', await socket.next());
  socket.close();
};
