import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { WebSocket } from 'ws';
import type { GatewayLimits } from '../../../gateway/context.ts';
import { type Binding, createBindingTokens } from '../../../gateway/websocket/binding-token.ts';
import { scaled } from '../../lib/time-scale.ts';
import { until } from '../../lib/until.ts';
import { gatewayTo } from '../fake-medplum.ts';
import { aBinding, message, type SocketMedplum, startSocketMedplum, status } from './sockets.ts';

interface Client {
  readonly socket: WebSocket;
  readonly received: string[];
  closed: number | undefined;
}

const bindingKey = randomBytes(32);
const metrics = { registry: new Registry() };
const { seal: bindingToken } = createBindingTokens(bindingKey);

let medplum: SocketMedplum;
let gateway: FastifyInstance;
let address: string;
const clients: WebSocket[] = [];

async function start(limits: Partial<GatewayLimits> = {}): Promise<void> {
  metrics.registry = new Registry();
  gateway = gatewayTo(medplum, limits, { bindingKey, metrics: metrics.registry });
  address = await gateway.listen({ port: 0, host: '127.0.0.1' });
}

async function connect(): Promise<Client> {
  const socket = new WebSocket(`${address.replace('http', 'ws')}/fhir/R4/ws`);
  const client: Client = { socket, received: [], closed: undefined };
  clients.push(socket);
  socket.on('message', (data: Buffer) => client.received.push(data.toString()));
  socket.on('close', (code) => {
    client.closed = code;
  });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return client;
}

beforeEach(async () => {
  medplum = await startSocketMedplum();
});
afterEach(async () => {
  for (const socket of clients.splice(0)) {
    socket.terminate();
  }
  await gateway.close();
  medplum.close();
});

const bind = (binding: Binding) => `bind-with-token ${bindingToken(binding)}`;
async function bound(id: string, expiration?: string): Promise<Client> {
  const client = await connect();
  client.socket.send(bind(aBinding(id, expiration)));
  await until(() => medplum.received.length > 0);
  medplum.say(status('handshake', id));
  await until(() => client.received.length > 0);
  return client;
}

describe('a websocket', () => {
  test('passes the token of Medplum on, and tells the handshake once Medplum has bound it', async () => {
    await start();
    const client = await connect();
    client.socket.send(bind(aBinding('one')));
    await until(() => medplum.received.length > 0);
    expect(medplum.received).toEqual([{ type: 'bind-with-token', payload: { token: 'token-of-one' } }]);
    expect(client.received).toEqual([]);
    medplum.say(status('handshake', 'one'));
    await until(() => client.received.length > 0);
    expect(client.received).toEqual([JSON.stringify(aBinding('one').handshake)]);
  });

  test('gets the contents of messages, and nothing else from Medplum', async () => {
    await start();
    const client = await bound('one');
    const bundle = { resourceType: 'Bundle', type: 'history', id: 'event' };
    medplum.say(status('heartbeat', 'one'));
    medplum.say('no JSON');
    medplum.say(status('event-notification', 'one', { resourceType: 'Patient', id: 'p' }));
    medplum.say(status('event-notification', 'one', message({ resourceType: 'Patient' })));
    medplum.say(status('event-notification', 'other', message(bundle)));
    medplum.say(status('event-notification', 'one', message(bundle)));
    await until(() => client.received.length > 1);
    expect(client.received.slice(1)).toEqual([JSON.stringify(bundle)]);
  });

  test('gets events in the order of their numbers', async () => {
    await start();
    const client = await bound('one');
    const event = (number: string) => ({
      resourceType: 'Bundle',
      entry: [
        {
          resource: {
            resourceType: 'Parameters',
            parameter: [{ name: 'notification-event', part: [{ name: 'event-number', valueString: number }] }],
          },
        },
      ],
    });
    for (const number of ['2', '1', '4']) {
      medplum.say(status('event-notification', 'one', message(event(number))));
    }
    await until(() => client.received.length === 4);
    expect(client.received.slice(1)).toEqual(['1', '2', '4'].map((number) => JSON.stringify(event(number))));
  });

  test('never tells an address of Medplum', async () => {
    await start();
    const client = await bound('one');
    medplum.say(
      status(
        'event-notification',
        'one',
        message({ resourceType: 'Bundle', entry: [{ fullUrl: `${medplum.url}/fhir/R4/x` }] }),
      ),
    );
    await until(() => client.received.length > 1);
    expect(client.received[1]).toContain('https://booking.example.org/fhir/R4/x');
  });

  test('a token that Medplum does not answer is refused after a while', async () => {
    await start({ upstreamTimeoutMs: 200 });
    const client = await connect();
    client.socket.send(bind(aBinding('one')));
    await until(() => client.received.length > 0);
    expect(client.received[0]).toMatch(/malformed-request.*get a new one with \$get-ws-binding-token/);
    await until(() => client.closed !== undefined);
    expect(client.closed).toBe(1008);
  });

  test("gets Medplum's reason for refusing a token", async () => {
    await start();
    const client = await connect();
    client.socket.send(bind(aBinding('one')));
    await until(() => medplum.received.length > 0);
    medplum.say({ resourceType: 'OperationOutcome', issue: [{ details: { text: 'Token failed to validate.' } }] });
    await until(() => client.received.length > 0);
    expect(client.received[0]).toContain('Token failed to validate.');
  });

  test('a token binds one websocket, and once', async () => {
    await start();
    const first = await bound('one');
    const second = await connect();
    for (const { socket } of [first, second]) {
      socket.send(bind(aBinding('one')));
    }
    await until(() => first.received.length > 1 && second.received.length > 0);
    const refused = [first.received[1], second.received[0]].map((text) => text?.includes('binds one websocket'));
    expect(refused).toEqual([true, true]);
    expect(medplum.received).toHaveLength(1);
  });

  test('a token is free again when its websocket has gone', async () => {
    await start();
    const first = await bound('one');
    first.socket.terminate();
    await until(() => medplum.sockets.size === 0);
    const second = await connect();
    second.socket.send(bind(aBinding('one')));
    await until(() => medplum.received.length === 2);
    expect([second.received, second.closed]).toEqual([[], undefined]);
  });

  test.each<[string, object]>([
    ['parameters that are no list', { resourceType: 'Parameters', parameter: 5 }],
    ['a number that is none', { resourceType: 'Parameters', parameter: [{ name: 'notification-event', part: [{}] }] }],
    ['nothing that is known', { resourceType: 'Patient' }],
  ])('a handshake with %s is told, and nothing breaks', async (_, resource) => {
    await start();
    const client = await connect();
    const handshake = JSON.parse(JSON.stringify({ resourceType: 'Bundle', entry: [{ resource }] }));
    client.socket.send(bind({ ...aBinding('one'), handshake }));
    await until(() => medplum.received.length > 0);
    medplum.say(status('handshake', 'one'));
    await until(() => client.received.length > 0);
    expect(client.received).toEqual([JSON.stringify(handshake)]);
  });

  test.each<[string, unknown]>([
    ['entries that are no list', { resourceType: 'Bundle', entry: 5 }],
    ['entries that are nothing', { resourceType: 'Bundle', entry: [null, null] }],
    ['issues that are no list', { resourceType: 'OperationOutcome', issue: 5 }],
    ['a payload of nothing', status('event-notification', 'one', { resourceType: 'Communication', payload: [null] })],
    ['null', null],
  ])('a message of Medplum with %s breaks nothing', async (_, strange) => {
    await start();
    const client = await bound('one');
    medplum.say(strange);
    medplum.say(status('event-notification', 'one', message({ resourceType: 'Bundle', id: 'event' })));
    await until(() => client.received.some((text) => text.includes('"event"')));
    expect(client.closed).toBeUndefined();
  });

  test('is closed when it sends too much', async () => {
    await start();
    const client = await connect();
    for (let index = 0; index <= 120; index++) {
      client.socket.send('ping');
    }
    await until(() => client.closed !== undefined);
    expect(client.closed).toBe(1008);
  });

  test('is closed when it unbinds the last', async () => {
    await start();
    const client = await bound('one');
    client.socket.send(`unbind-from-token ${bindingToken(aBinding('one'))}`);
    await until(() => client.closed !== undefined);
    expect(client.closed).toBe(1008);
  });

  test('sends nothing to Medplum before the first token', async () => {
    await start();
    const client = await connect();
    client.socket.send('ping');
    await until(() => client.received.length > 0);
    expect(medplum.sockets.size).toBe(0);
  });

  test('is closed when its last binding has ended', async () => {
    await start();
    const client = await bound('one', new Date(Date.now() + scaled(100)).toISOString());
    await until(() => client.closed !== undefined);
    expect(client.closed).toBe(1008);
    await until(() => medplum.sockets.size === 0);
  });

  test('is closed when nothing is bound in time', async () => {
    await start({ bindMs: 100 });
    const client = await connect();
    await until(() => client.closed !== undefined);
    expect(client.closed).toBe(1008);
  });

  test('can be bound to at most 20 Subscriptions', async () => {
    await start();
    const client = await connect();
    for (let index = 0; index <= 20; index++) {
      client.socket.send(bind(aBinding(`s${index}`)));
    }
    await until(() => client.received.length > 0 && medplum.received.length === 20);
    expect(client.received[0]).toContain('at most 20');
  });

  test('is closed when Medplum closes its own connection', async () => {
    await start();
    const client = await bound('one');
    for (const socket of medplum.sockets) {
      socket.close();
    }
    await until(() => client.closed !== undefined);
    expect(client.closed).toBe(1012);
  });

  test('is closed when Medplum is not there', async () => {
    await start();
    medplum.close();
    const client = await connect();
    client.socket.send(bind(aBinding('one')));
    await until(() => client.closed !== undefined);
    expect(client.closed).toBe(1012);
  });

  test('takes that of Medplum with it', async () => {
    await start();
    const client = await bound('one');
    client.socket.terminate();
    await until(() => medplum.sockets.size === 0);
  });

  test('too many that are bound: the next one is told to come again when it binds', async () => {
    await start({ websockets: 1 });
    const first = await bound('one');
    const second = await connect();
    second.socket.send(bind(aBinding('two')));
    await until(() => second.closed !== undefined);
    expect([first.closed, second.closed]).toEqual([undefined, 1013]);
  });

  test('one client has so many that are bound, others are not kept out by it', async () => {
    await start({ websocketsPerClient: 1 });
    await bound('one');
    const [second, other] = [await connect(), await connect()];
    second.socket.send(bind(aBinding('two')));
    await until(() => second.closed !== undefined);
    expect(second.closed).toBe(1013);
    other.socket.send(bind({ ...aBinding('three'), client: 'ClientApplication/portal-b-id' }));
    await until(() => medplum.received.length === 2);
    expect(other.closed).toBeUndefined();
  });

  test('a websocket of one client takes no token of another', async () => {
    await start();
    const client = await bound('one');
    client.socket.send(bind({ ...aBinding('two'), client: 'ClientApplication/portal-b-id' }));
    await until(() => client.received.length > 1);
    expect([client.received[1]?.includes('serves one client'), medplum.received.length]).toEqual([true, 1]);
  });

  test('one address has few that are not bound', async () => {
    await start({ unboundWebsocketsPerAddress: 3 });
    const many = await Promise.all(Array.from({ length: 3 }, connect));
    const last = await connect();
    await until(() => last.closed !== undefined);
    expect([last.closed, many.filter(({ closed }) => closed !== undefined).length]).toEqual([1013, 0]);
  });

  test('unbound websockets take no place of those that are bound', async () => {
    await start({ websockets: 1, unboundWebsockets: 2, unboundWebsocketsPerAddress: 2 });
    await Promise.all([connect(), connect()]);
    for (const socket of clients.splice(0, 1)) {
      socket.terminate();
    }
    await until(() => [...medplum.sockets].length === 0);
    expect((await bound('one')).closed).toBeUndefined();
  });

  test.each([
    ['unsealed, as they once were', () => Buffer.from(JSON.stringify(aBinding('one'))).toString('base64url')],
    ['sealed with another key', () => createBindingTokens().seal(aBinding('one'))],
    ['expired', () => bindingToken(aBinding('one', new Date(Date.now() - 1).toISOString()))],
    ['cut', () => bindingToken(aBinding('one')).slice(0, -4)],
  ])('takes no tokens that are %s, and asks nothing of Medplum', async (_, token) => {
    await start();
    const client = await connect();
    client.socket.send(`bind-with-token ${token()}`);
    await until(() => client.received.length > 0);
    expect(client.received[0]).toContain('needs an unexpired token from $get-ws-binding-token');
    expect(medplum.sockets.size).toBe(0);
  });

  test('is closed with the service, and counted until then', async () => {
    await start();
    const client = await connect();
    expect(await metrics.registry.metrics()).toMatch(/^booking_gateway_websockets_unbound 1$/m);
    await gateway.close();
    await until(() => client.closed !== undefined);
    expect(client.closed).toBe(1001);
  });
});
