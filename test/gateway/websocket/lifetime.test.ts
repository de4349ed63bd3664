import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { WebSocket } from 'ws';
import type { GatewayLimits } from '../../../gateway/context.ts';
import { websocketUrl } from '../../../gateway/websocket/server.ts';
import { until } from '../../lib/until.ts';
import { type FakeMedplum, gatewayTo, startFakeMedplum } from '../fake-medplum.ts';

let medplum: FakeMedplum;
let gateway: FastifyInstance | undefined;
let address: string;

beforeEach(async () => {
  medplum = await startFakeMedplum();
});
afterEach(async () => {
  await gateway?.close();
  await medplum.close();
});

async function start(limits: Partial<GatewayLimits> = {}): Promise<void> {
  gateway = gatewayTo(medplum, limits);
  address = await gateway.listen({ port: 0, host: '127.0.0.1' });
}

/** A websocket, and how it was closed. */
interface Opened {
  readonly socket: WebSocket;
  closed?: readonly [code: number, reason: string];
}

async function open(path = '/fhir/R4/ws'): Promise<Opened> {
  const opened: Opened = { socket: new WebSocket(`${address.replace('http', 'ws')}${path}`) };
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

  test('with a query, which says nothing', async () => {
    await start();
    const { socket } = await open('/fhir/R4/ws?a=/b');
    socket.terminate();
  });

  test.each(['websocket', 'WebSocket'])('by an offer of %s, without compression', async (upgrade) => {
    await start();
    const { socket, head } = await openSilently(upgrade);
    expect(head).toMatch(/^HTTP\/1.1 101 /);
    socket.destroy();
    const client = await open();
    expect(client.socket.extensions).toBe('');
    client.socket.terminate();
  });
});

describe('a websocket is closed', () => {
  test('if its client does not answer pings; the others stay', async () => {
    await start({ pingMs: 100 });
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
    await start({ unboundWebsocketsPerAddress: 1 });
    const first = await open();
    const second = await open();
    await until(() => second.closed !== undefined);
    expect([first.closed, second.closed]).toEqual([undefined, [1013, 'Try again in a moment']]);
    first.socket.terminate();
  });

  test('if it waits longest where too many wait', async () => {
    await start({ unboundWebsockets: 1 });
    const first = await open();
    const second = await open();
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

  test('if it comes while the service ends', async () => {
    await start();
    const first = await open();
    const late = connect(Number(new URL(address).port), '127.0.0.1').on('error', () => undefined);
    const received: Buffer[] = [];
    late.on('data', (data) => received.push(data)).write('GET /fhir/R4/ws HTTP/1.1\r\nHost: x\r\n');
    // The beginning of its request has arrived when one that was sent later is answered.
    await fetch(`${address}/healthz`);
    const closing = gateway?.close();
    await until(() => first.closed !== undefined);
    late.write(offerOf('websocket'));
    const frame = Buffer.concat([Buffer.from([0x88, 23, 0x03, 0xf5]), Buffer.from('Try again in a moment')]);
    await until(() => Buffer.concat(received).includes(frame));
    late.destroy();
    await closing;
  });
});

test('the place of a websocket that goes is free for the next one', async () => {
  await start({ unboundWebsocketsPerAddress: 1 });
  const first = await open();
  first.socket.terminate();
  const stays = await until(async () => {
    const next = await open();
    next.socket.send('ping');
    const isServed = await Promise.race([
      new Promise<boolean>((resolve) => next.socket.once('message', () => resolve(true))),
      new Promise<boolean>((resolve) => next.socket.once('close', () => resolve(false))),
    ]);
    next.socket.terminate();
    return isServed;
  });
  expect(stays).toBe(true);
});

describe('a broken frame', () => {
  test.each([true, false])('ends the websocket alone (refused: %s)', async (isRefused) => {
    await start({ unboundWebsocketsPerAddress: isRefused ? 0 : 10 });
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
