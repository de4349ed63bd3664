import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { WebSocket } from 'ws';
import type { GatewayContext } from '../../../gateway/context.ts';
import { defaultLimits, type GatewayLimits } from '../../../gateway/limits.ts';
import { createAddresses } from '../../../gateway/medplum/address-rewriting.ts';
import { parseCredentialKeys } from '../../../gateway/sealing/credential-keys.ts';
import { type Binding, createBindingTokens } from '../../../gateway/websocket/binding-token.ts';
import { websocketUrl } from '../../../gateway/websocket/endpoint.ts';
import { relay, type SharedSockets } from '../../../gateway/websocket/relay.ts';
import {
  mostBindings,
  newSession,
  type SessionEffect,
  type SessionEvent,
  step,
  type Timer,
} from '../../../gateway/websocket/session.ts';
import { scaled } from '../../lib/time-scale.ts';
import { until } from '../../lib/until.ts';
import { config, type FakeMedplum, gatewayTo, startFakeMedplum } from '../fake-medplum.ts';
import { keysOf } from '../sealing/keys.ts';
import { aBinding, message, type SocketMedplum, startSocketMedplum, status } from './sockets.ts';

let address: string;

describe('server', () => {
  interface Client {
    readonly socket: WebSocket;
    readonly received: string[];
    closed: number | undefined;
  }

  const keys = parseCredentialKeys(randomBytes(32).toString('base64'));
  const { seal: bindingToken } = createBindingTokens(keys);
  let medplum: SocketMedplum;
  let gateway: FastifyInstance | undefined;
  const clients: WebSocket[] = [];

  /** Starts the gateway; the first client does it where a test needs no other limits than usual. */
  async function start(limits: Partial<GatewayLimits> = {}): Promise<void> {
    gateway = gatewayTo(medplum, limits, { sealing: { keys, unsealed: 'accepted' } });
    address = await gateway.listen({ port: 0, host: '127.0.0.1' });
  }

  async function connect(): Promise<Client> {
    if (!gateway) {
      await start();
    }
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
    await gateway?.close();
    gateway = undefined;
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

    test('never tells an address of Medplum', async () => {
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

    test('a token binds one websocket, and once', async () => {
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

    test('is closed when it sends too much', async () => {
      const client = await connect();
      for (let index = 0; index <= 120; index++) {
        client.socket.send('ping');
      }
      await until(() => client.closed !== undefined);
      expect(client.closed).toBe(1008);
    });

    test('is closed when its last binding has ended', async () => {
      const client = await bound('one', new Date(Date.now() + scaled(500)).toISOString());
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

    test('is closed when Medplum closes its own connection', async () => {
      const client = await bound('one');
      for (const socket of medplum.sockets) {
        socket.close();
      }
      await until(() => client.closed !== undefined);
      expect(client.closed).toBe(1012);
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
      await start({ websockets: 10 });
      await bound('one');
      const second = await connect();
      second.socket.send(bind(aBinding('two')));
      await until(() => second.closed !== undefined);
      expect(second.closed).toBe(1013);
      const other = await connect();
      other.socket.send(bind({ ...aBinding('three'), client: 'ClientApplication/portal-b-id' }));
      await until(() => medplum.received.length === 2);
      expect(other.closed).toBeUndefined();
    });

    test.each([
      ['unsealed, as they once were', () => Buffer.from(JSON.stringify(aBinding('one'))).toString('base64url')],
      ['sealed with another key', () => createBindingTokens(keysOf(9)).seal(aBinding('one'))],
      ['expired', () => bindingToken(aBinding('one', new Date(Date.now() - 1).toISOString()))],
      ['cut', () => bindingToken(aBinding('one')).slice(0, -4)],
    ])('takes no tokens that are %s, and asks nothing of Medplum', async (_, token) => {
      const client = await connect();
      client.socket.send(`bind-with-token ${token()}`);
      await until(() => client.received.length > 0);
      expect(client.received[0]).toContain('needs an unexpired token from $get-ws-binding-token');
      expect(medplum.sockets.size).toBe(0);
    });
  });
});

describe('relay', () => {
  const bindingTokens = createBindingTokens(keysOf(9));
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

    terminate(): void {
      this.bufferedAmount = 0;
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
      unread: () => client.bufferedAmount,
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
  });

  describe('the connection to Medplum', () => {
    test('is given up after a message that is too large', async () => {
      const client = serve({ limits: { botResponseBytes: 1_000 } });
      client.say(bind('one'));
      await until(() => medplum.received.length > 0);
      medplum.say('x'.repeat(1_001));
      await until(() => client.closed !== undefined);
      expect(client.closed?.[0]).toBe(1012);
    });
  });
});

describe('lifetime', () => {
  let medplum: FakeMedplum;
  let gateway: FastifyInstance | undefined;

  beforeEach(async () => {
    medplum = await startFakeMedplum();
  });

  afterEach(async () => {
    await gateway?.close();
    await medplum.close();
  });

  async function start(limits: Partial<GatewayLimits> = {}): Promise<void> {
    gateway = gatewayTo(medplum, limits, { trustProxy: 1 });
    address = await gateway.listen({ port: 0, host: '127.0.0.1' });
  }

  /** A websocket, and how it was closed. */
  interface Opened {
    readonly socket: WebSocket;
    closed?: readonly [code: number, reason: string];
  }

  async function open(path = '/fhir/R4/ws', from = '192.0.2.1'): Promise<Opened> {
    const headers = { 'x-forwarded-for': from };
    const opened: Opened = { socket: new WebSocket(`${address.replace('http', 'ws')}${path}`, { headers }) };
    opened.socket.on('close', (code, reason) => {
      opened.closed = [code, reason.toString()];
    });
    await new Promise((resolve, reject) => opened.socket.once('open', resolve).once('error', reject));
    return opened;
  }

  /** The headers of an offer to become a websocket, without `Host`, to the end. */
  const offerOf = (upgrade: string): string =>
    [
      'Connection: Upgrade',
      `Upgrade: ${upgrade}`,
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      '\r\n',
    ].join('\r\n');

  /** A client that opens a websocket, and then neither answers nor goes. */
  async function openSilently(upgrade = 'websocket'): Promise<{ readonly socket: Socket; readonly head: string }> {
    const socket = connect(Number(new URL(address).port), '127.0.0.1').on('error', () => undefined);
    socket.write(`GET /fhir/R4/ws HTTP/1.1\r\nHost: x\r\n${offerOf(upgrade)}`);
    const head = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
    return { socket, head };
  }

  describe('a websocket is opened', () => {
    test.each([
      ['https://booking.example.org/fhir/R4', 'wss://booking.example.org/fhir/R4/ws'],
      ['http://localhost:3000/http', 'ws://localhost:3000/http/ws'],
    ])('of the service at %s: at %s', (baseUrl, expected) => {
      expect(websocketUrl({ baseUrl })).toBe(expected);
    });
  });

  describe('a websocket is closed', () => {
    test('if its client does not answer pings; the others stay', async () => {
      await start({ pingMs: scaled(100) });
      const { socket: silent } = await openSilently();
      const answering = await open();
      await new Promise((resolve) => silent.once('close', resolve));
      let pings = 0;
      answering.socket.on('ping', () => pings++);
      await until(() => pings > 2);
      expect(answering.closed).toBeUndefined();
      answering.socket.terminate();
    });

    test('if it sends more than 64 KB at once', async () => {
      await start();
      const client = await open();
      client.socket.send('x'.repeat(64 * 1024));
      await new Promise((resolve) => client.socket.once('message', resolve));
      client.socket.send('x'.repeat(64 * 1024 + 1));
      await until(() => client.closed !== undefined);
      expect(client.closed?.[0]).toBe(1009);
    });

    test('if one address has too many without a token', async () => {
      await start({ websockets: 50 });
      const first = await open();
      const second = await open();
      await until(() => second.closed !== undefined);
      expect([first.closed, second.closed]).toEqual([undefined, [1013, 'Try again in a moment']]);
      first.socket.terminate();
    });

    test('if it waits longest where too many wait', async () => {
      await start({ websockets: 5 });
      const first = await open();
      const second = await open('/fhir/R4/ws', '192.0.2.2');
      await until(() => first.closed !== undefined);
      expect([first.closed, second.closed]).toEqual([[1013, 'No token yet, and others are waiting'], undefined]);
      second.socket.terminate();
    });

    test('with the service: told why, or cut if it does not go', async () => {
      await start();
      const client = await open();
      const { socket: silent } = await openSilently();
      const cut = new Promise((resolve) => silent.once('close', resolve));
      await gateway?.close();
      await until(() => client.closed !== undefined);
      expect(client.closed).toEqual([1001, 'Reconnect, and get missed events with $events']);
      await cut;
    });
  });

  describe('a broken frame', () => {
    test.each([true, false])('ends the websocket alone (refused: %s)', async (isRefused) => {
      await start({ websockets: 50 });
      if (isRefused) {
        await openSilently();
      }
      const { socket: raw } = await openSilently();
      raw.write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
      await new Promise((resolve) => raw.once('close', resolve));
      expect((await gateway?.inject('/healthz'))?.statusCode).toBe(200);
    });
  });

  /** Asks over a connection that offers another protocol. */
  function upgrade(path: string, protocol: string): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const headers = { connection: 'Upgrade', upgrade: protocol };
      httpRequest(`${address}${path}`, { headers }, (response) => resolve(response.resume().statusCode))
        .once('upgrade', () => reject(new Error('upgraded')))
        .once('error', reject)
        .end();
    });
  }

  describe('a bad offer to become a websocket', () => {
    test.each([
      ['without a key', ['Host: x', 'Sec-WebSocket-Version: 13']],
      ['of another version', ['Host: x', 'Sec-WebSocket-Version: 1', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']],
      ['without a host', ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']],
    ])('%s is refused with an OperationOutcome', async (_, headers) => {
      await start();
      const raw = connect(Number(new URL(address).port), '127.0.0.1');
      let answer = '';
      raw.on('data', (data) => {
        answer += data;
      });
      const offer = ['GET /fhir/R4/ws HTTP/1.1', 'Connection: Upgrade', 'Upgrade: websocket', ...headers];
      raw.write(`${offer.join('\r\n')}\r\n\r\n`);
      await new Promise((resolve) => raw.once('close', resolve));
      expect(answer).toMatch(/^HTTP\/1.1 400 /);
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))).resourceType).toBe('OperationOutcome');
    });
  });

  describe('other offers to upgrade', () => {
    test.each([
      ['/healthz', 'h2c', 200],
      ['/fhir/R4/ws', 'h2c', 404],
      ['/healthz', 'websocket', 200],
      ['/fhir/R4/Slot', 'websocket', 401],
      ['/ws/subscriptions-r4', 'websocket', 404],
    ])('%s to %s: answered %i like any request', async (path, protocol, expected) => {
      await start();
      expect(await upgrade(path, protocol)).toBe(expected);
    });
  });
});

/** Time limits of a session, and the time of all that happens to it. */
const limits = { bindMs: 10_000, upstreamTimeoutMs: 15_000 };
const now = Date.parse('2027-01-01T00:00:00Z');

/** A binding with this id, which ends after an hour. */
const binding = (id: string, client = 'ClientApplication/a'): Binding => ({
  id,
  token: `token-of-${id}`,
  expiration: '2027-01-01T01:00:00Z',
  client,
  handshake: { resourceType: 'Bundle', type: 'history', id: `handshake-${id}` },
});
const accepted = (id: string): SessionEvent => ({ kind: 'medplum-said', message: { kind: 'bound', id } });

/** Any event about a few bindings. */
const anyEvent: fc.Arbitrary<SessionEvent> = fc
  .tuple(fc.constantFrom('one', 'two', 'three'), fc.constantFrom('ClientApplication/a', 'ClientApplication/b'))
  .chain(([id, client]) => {
    const timers: readonly Timer[] = ['idle', 'minute', 'silence', `bind ${id}`, `gap ${id}`, `end ${id}`];
    const bundle: Bundle = { resourceType: 'Bundle', type: 'history' };
    return fc.oneof(
      {
        weight: 5,
        arbitrary: fc.constant<SessionEvent>({ kind: 'said', message: { kind: 'bind', binding: binding(id, client) } }),
      },
      {
        weight: 2,
        arbitrary: fc.constant<SessionEvent>({ kind: 'said', message: { kind: 'unbind', binding: binding(id) } }),
      },
      { weight: 3, arbitrary: fc.constant<SessionEvent>(accepted(id)) },
      {
        weight: 3,
        arbitrary: fc.constant<SessionEvent>({ kind: 'medplum-said', message: { kind: 'notification', id, bundle } }),
      },
      { weight: 2, arbitrary: fc.constant<SessionEvent>({ kind: 'medplum-open' }) },
      { weight: 2, arbitrary: fc.constantFrom(...timers).map((timer): SessionEvent => ({ kind: 'timer', timer })) },
      fc.constantFrom<SessionEvent>({ kind: 'gone' }, { kind: 'failed' }, { kind: 'unread' }, { kind: 'medplum-lost' }),
    );
  });

describe('whatever happens', () => {
  /** Runs events as the relay does, and keeps account of what is held. */
  function run(events: readonly SessionEvent[]) {
    let session = newSession;
    const [held, timers, released] = [new Set<string>(), new Set<Timer>(), [] as string[]];
    let [connections, closings, late] = [0, 0, 0];
    const queue: SessionEvent[] = [{ kind: 'opened' }];
    const act = (effect: SessionEffect): void => {
      late += closings > 0 && effect.kind !== 'release' && effect.kind !== 'cancel' ? 1 : 0;
      if (effect.kind === 'claim') {
        const { id } = effect.binding;
        queue.push({ kind: held.has(id) ? 'taken' : 'claimed', binding: effect.binding });
        held.add(id);
      } else if (effect.kind === 'release') {
        released.push(effect.id);
        held.delete(effect.id);
      } else if (effect.kind === 'start') {
        timers.add(effect.timer);
      } else if (effect.kind === 'cancel') {
        timers.delete(effect.timer);
      }
      connections += effect.kind === 'connect' ? 1 : 0;
      closings += effect.kind === 'close' ? 1 : 0;
    };
    for (const event of events) {
      queue.push(event);
      for (let next = queue.shift(); next; next = queue.shift()) {
        if (next.kind === 'timer') {
          timers.delete(next.timer);
        }
        const after = step(session, next, now, limits);
        session = after.session;
        after.effects.forEach(act);
      }
    }
    return { session, held, timers, connections, closings, late };
  }

  test('what is bound is held, one client at a time; what is over holds nothing and does nothing any more', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 60 }), (events) => {
        const { session, held, timers, connections, closings, late } = run(events);
        expect([...held].sort()).toEqual([...session.bound.keys()].sort());
        expect(session.bound.size).toBeLessThanOrEqual(mostBindings);
        expect(new Set([...session.bound.values()].map((bound) => bound.binding.client)).size).toBeLessThanOrEqual(1);
        expect(connections).toBeLessThanOrEqual(1);
        expect([closings, late]).toEqual([session.isOver ? 1 : 0, 0]);
        const foreign = [...timers].filter(
          (timer) => timer.includes(' ') && !session.bound.has(timer.split(' ')[1] ?? ''),
        );
        expect(foreign).toEqual([]);
        expect(session.isOver ? [...timers] : []).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });
});
