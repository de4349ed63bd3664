import { EventEmitter } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { WebSocket } from 'ws';
import { defaultLimits, type GatewayContext, type GatewayLimits } from '../../../gateway/context.ts';
import { createAddresses } from '../../../gateway/medplum/address-rewriting.ts';
import { createBindingTokens } from '../../../gateway/websocket/binding-token.ts';
import { relay, type SharedSockets } from '../../../gateway/websocket/relay.ts';
import { until } from '../../lib/until.ts';
import { config } from '../fake-medplum.ts';
import { aBinding, message, type SocketMedplum, startSocketMedplum, status } from './sockets.ts';

const bindingTokens = createBindingTokens();
const bind = (...given: Parameters<typeof aBinding>) => `bind-with-token ${bindingTokens.seal(aBinding(...given))}`;
const event = { resourceType: 'Bundle', type: 'history', id: 'event' };

/** A client, as the service sees it. */
class Client extends EventEmitter {
  readonly sent: string[] = [];
  closed: readonly [code: number, reason: string] | undefined;
  bufferedAmount = 0;

  send(text: string): void {
    this.sent.push(text);
  }

  close(code: number, reason: string): void {
    this.closed ??= [code, reason];
    this.emit('close');
  }

  say(text: string): void {
    this.emit('message', Buffer.from(text));
  }
}

let medplum: SocketMedplum;
const clients: Client[] = [];

beforeEach(async () => {
  medplum = await startSocketMedplum();
});
afterEach(() => {
  for (const client of clients.splice(0)) {
    client.emit('close');
  }
  medplum.close();
});

/** A client that is served, with what the websockets of a gateway share. */
function serve({
  limits = {},
  url = `${medplum.url.replace('http', 'ws')}/ws/subscriptions-r4`,
  ...shared
}: Partial<SharedSockets> & { limits?: Partial<GatewayLimits>; url?: string } = {}): Client {
  const client = new Client();
  clients.push(client);
  const addresses = createAddresses(config, [medplum.url]);
  const all = { ...defaultLimits(config), ...limits };
  const context = { config, limits: all, addresses, bindingTokens } as Partial<GatewayContext> as GatewayContext;
  relay(client as unknown as WebSocket, url, context, {
    claim: () => 'claimed',
    release: () => undefined,
    failed: () => undefined,
    ...shared,
  });
  return client;
}

/** A client that is bound. */
async function bound(...given: Parameters<typeof aBinding>): Promise<Client> {
  const client = serve();
  client.say(bind(...given));
  await until(() => JSON.stringify(medplum.received).includes(`"token-of-${given[0]}"`));
  medplum.say(status('handshake', given[0]));
  await until(() => client.sent.length > 0);
  return client;
}

describe('a client', () => {
  test('that reads is told', () => {
    const client = serve();
    client.bufferedAmount = 8 * 1024 * 1024;
    client.say('ping');
    expect([client.sent, client.closed]).toEqual([['{"type":"pong"}'], undefined]);
  });

  test('that leaves more than 8 MB unread is told nothing more', () => {
    const client = serve();
    client.bufferedAmount = 8 * 1024 * 1024 + 1;
    client.say('ping');
    client.say('ping');
    expect([client.sent, client.closed]).toEqual([[], [1008, 'Too many unread messages: get the rest with $events']]);
  });

  test('that is refused something gets an OperationOutcome', () => {
    const client = serve({ claim: () => 'taken' });
    client.say(bind('one'));
    expect(JSON.parse(client.sent[0] ?? '')).toMatchObject({
      resourceType: 'OperationOutcome',
      issue: [
        {
          details: { coding: [{ code: 'malformed-request' }] },
          diagnostics: 'A token binds one websocket once: get another with $get-ws-binding-token.',
        },
      ],
    });
  });

  test('for which no place is left is sent away, with all that it has sent', () => {
    const claims: string[] = [];
    const client = serve({
      claim: ({ id }) => {
        claims.push(id);
        return 'full';
      },
    });
    for (const id of ['one', 'two']) {
      client.say(bind(id));
    }
    expect([claims, client.closed?.[0], client.sent]).toEqual([['one'], 1013, []]);
  });

  test('gives its tokens back when it goes', async () => {
    const released: string[] = [];
    const client = serve({ release: (id) => void released.push(id) });
    client.say(bind('one'));
    await until(() => medplum.received.length > 0);
    client.emit('close');
    expect(released).toEqual(['one']);
    await until(() => medplum.sockets.size === 0);
  });

  test('is closed after a fault of the service, which is reported', () => {
    const fault = new Error('fault');
    const faults: unknown[] = [];
    const client = serve({
      claim: () => {
        throw fault;
      },
      failed: (error) => void faults.push(error),
    });
    client.say(bind('one'));
    expect([faults, client.closed]).toEqual([[fault], [1011, 'Internal error; reconnect and bind again']]);
  });
});

describe('a binding', () => {
  test.each([
    ['in two months', 60],
    ['in a hundred years', 36_500],
  ])('that ends %s is not over before', async (_, days) => {
    const client = await bound('one', new Date(Date.now() + days * 86_400_000).toISOString());
    medplum.say(status('event-notification', 'one', message(event)));
    await until(() => client.sent.length > 1);
    expect([client.sent[1], client.closed]).toEqual([JSON.stringify(event), undefined]);
  });

  test('takes the time away in which it had to be made', async () => {
    const client = serve({ limits: { bindMs: 50 } });
    client.say(bind('one'));
    const other = serve({ limits: { bindMs: 50 } });
    await until(() => other.closed !== undefined);
    expect([client.closed, other.closed?.[0]]).toEqual([undefined, 1008]);
  });

  test('waits anew for a missing event when another one has come', async () => {
    const numbered = (number: number) => {
      const part = [{ name: 'event-number', valueString: String(number) }];
      const parameter = [{ name: 'notification-event', part }];
      return { resourceType: 'Bundle', entry: [{ resource: { resourceType: 'Parameters', parameter } }] };
    };
    const happen = (id: string, ...numbers: number[]) => {
      for (const number of numbers) {
        medplum.say(status('event-notification', id, message(numbered(number))));
      }
    };
    const told: string[] = [];
    const [first, second] = [await bound('one'), await bound('two')];
    for (const [name, client] of [
      ['first', first],
      ['second', second],
    ] as const) {
      client.send = (text) => void told.push(`${name} ${/"(\d)"/.exec(text)?.[1]}`);
    }
    happen('one', 1, 3, 5, 1);
    await until(() => told.length === 2);
    happen('two', 2, 0);
    await until(() => told.length === 3);
    happen('one', 2);
    await until(() => told.length === 7);
    expect(told).toEqual(['first 1', 'first 1', 'second 0', 'first 2', 'first 3', 'second 2', 'first 5']);
  });
});

describe('the connection to Medplum', () => {
  test('offers no compression, which costs memory for each websocket', async () => {
    await bound('one');
    expect(medplum.offers.map((headers) => headers['sec-websocket-extensions'])).toEqual([undefined]);
  });

  test('is given up after a message that is too large', async () => {
    const client = serve({ limits: { botResponseBytes: 1_000 } });
    client.say(bind('one'));
    await until(() => medplum.received.length > 0);
    medplum.say('x'.repeat(1_001));
    await until(() => client.closed !== undefined);
    expect(client.closed?.[0]).toBe(1012);
  });

  test('is given up when Medplum takes too long to open it', async () => {
    const sockets: Socket[] = [];
    const mute = createServer((socket) => void sockets.push(socket));
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const { port } = Object.assign({ port: 0 }, mute.address());
    const client = serve({ limits: { upstreamTimeoutMs: 100 }, url: `ws://127.0.0.1:${port}` });
    client.say(bind('one'));
    await until(() => client.closed !== undefined);
    expect([client.closed?.[0], client.sent]).toEqual([1012, []]);
    for (const socket of sockets) {
      socket.destroy();
    }
    mute.close();
  });
});
