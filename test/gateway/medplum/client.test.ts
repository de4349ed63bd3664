import { EventEmitter } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, test } from '@jest/globals';
import { defaultLimits } from '../../../gateway/limits.ts';
import { createUpstream, type UpstreamLimits } from '../../../gateway/medplum/client.ts';
import { createResponseMemory } from '../../../gateway/medplum/response-memory.ts';
import { until } from '../../lib/until.ts';
import { config, startFakeMedplum } from '../fake-medplum.ts';

describe('client', () => {
  let server: Server | undefined;
  const sockets = new Set<Socket>();

  async function startServer(onRequest: (socket: Socket, count: number) => void): Promise<string> {
    let count = 0;
    server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('data', () => onRequest(socket, ++count));
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen(0, '127.0.0.1', resolve);
    await promise;
    const address = server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  }

  afterEach(() => {
    for (const socket of sockets) {
      socket.destroy();
    }
    sockets.clear();
    server?.close();
  });

  const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';

  const call = async (url: string, method: 'GET' | 'POST', limits: Partial<UpstreamLimits> = {}) => {
    const upstream = createUpstream(url, { ...defaultLimits(config), responseBytes: 1000, ...limits });
    const response = await upstream.call({ method, path: 'fhir/R4/Slot', ...(method === 'POST' && { body: '{}' }) });
    expect(upstream.pending()).toBe(0);
    await upstream.close();
    return response;
  };

  describe('faults of Medplum', () => {
    test.each<[string, string, string]>([
      ['half a body', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"a":', 'broken'],
      ['half a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a"', 'broken'],
      ['no HTTP', 'hello\r\n\r\n', 'unavailable'],
      ['nothing', '', 'unavailable'],
      ['too much', `HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n${'1'.repeat(5000)}`, 'too-large'],
    ])('%s, then the end', async (_name, sent, failure) => {
      const url = await startServer((socket) => socket.end(sent));
      expect(await call(url, 'POST')).toEqual({ failure });
    });

    test('half a body, then silence: a time-out', async () => {
      const url = await startServer((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{'));
      expect(await call(url, 'GET', { upstreamTimeoutMs: 200 })).toEqual({ failure: 'timeout' });
    });

    test('no HTTP: a GET is not sent again', async () => {
      let count = 0;
      const url = await startServer((socket) => {
        count++;
        socket.end('hello\r\n\r\n');
      });
      expect([await call(url, 'GET'), count]).toEqual([{ failure: 'unavailable' }, 1]);
    });

    test.each([
      ['GET', 'destroy', 3, 200],
      ['GET', 'resetAndDestroy', 3, 200],
      ['POST', 'destroy', 2, undefined],
      ['POST', 'resetAndDestroy', 2, undefined],
    ] as const)(
      'a kept connection that is dead: %s (%s) is sent %i times in all',
      async (method, end, times, status) => {
        let count = 0;
        const url = await startServer((socket) => {
          count++;
          if (count === 2) {
            socket[end]();
          } else {
            socket.write(ok);
          }
        });
        const upstream = createUpstream(url, defaultLimits(config));
        await upstream.call({ method: 'GET', path: 'a' });
        const response = await upstream.call({ method, path: 'b', ...(method === 'POST' && { body: '{}' }) });
        expect('status' in response ? response.status : undefined).toBe(status);
        expect(count).toBe(times);
        await upstream.close();
      },
    );
  });

  const sent = (status: string, body: string, ...headers: string[]) =>
    [`HTTP/1.1 ${status}`, ...headers, `Content-Length: ${Buffer.byteLength(body)}`, '', body].join('\r\n');

  describe('an answer of Medplum', () => {
    test.each<[string, string, object]>([
      ['JSON', sent('200 OK', '{"a":"ü"}'), { status: 200, body: { a: 'ü' } }],
      ['nothing', sent('204 No Content', ''), { status: 204, body: undefined }],
      ['an error in JSON', sent('404 Not Found', '{"a":1}'), { status: 404, body: { a: 1 } }],
      ['an error in words', sent('400 Bad Request', 'no'), { status: 400, body: undefined }],
      ['a redirection in words', sent('399 Other', 'no'), { failure: 'broken' }],
      ['a success in words', sent('200 OK', 'no'), { failure: 'broken' }],
      ['as much as allowed', sent('200 OK', `"${'x'.repeat(998)}"`), { status: 200, body: 'x'.repeat(998) }],
      ['one byte more', sent('200 OK', `"${'x'.repeat(999)}"`), { failure: 'too-large' }],
    ])('that is %s', async (_name, text, expected) => {
      const url = await startServer((socket) => socket.write(text));
      expect(await call(url, 'GET')).toMatchObject(expected);
    });

    test('that is too large is none, also as it was sent', async () => {
      const url = await startServer((socket) => socket.write(sent('200 OK', 'x'.repeat(11))));
      const upstream = createUpstream(url, { ...defaultLimits(config), responseBytes: 10 });
      expect(await upstream.send({ method: 'GET', path: '' })).toEqual({ failure: 'too-large' });
      await upstream.close();
    });
  });

  describe('a call of Medplum', () => {
    test.each(['', '/'])(
      'has a path below its base address ("%s" at its end), a query, headers and a body',
      async (end) => {
        const fake = await startFakeMedplum();
        const upstream = createUpstream(`${fake.url}/medplum${end}`, defaultLimits(config));
        expect(upstream.baseUrl).toBe(`${fake.url}/medplum/`);
        const headers = { 'x-a': '1', 'content-type': 'text/plain' };
        await upstream.call({ method: 'PUT', path: 'fhir/R4/Slot', query: 'a=b', headers, body: '{}' });
        await upstream.call({ method: 'GET', path: 'b' });
        await Promise.all([upstream.close(), fake.close()]);
        expect(fake.received).toMatchObject([
          { method: 'PUT', path: '/medplum/fhir/R4/Slot', headers, body: '{}' },
          { method: 'GET', path: '/medplum/b', body: '' },
        ]);
        expect(fake.received.map(({ query }) => query.toString())).toEqual(['a=b', '']);
      },
    );

    test('has as many connections as allowed, and waits for them', async () => {
      const waiting: Socket[] = [];
      const url = await startServer((socket) => void waiting.push(socket));
      const upstream = createUpstream(url, { ...defaultLimits(config), connections: 1 });
      const calls = ['a', 'b'].map((path) => upstream.call({ method: 'POST', path, body: '{}' }));
      for (const count of [1, 2]) {
        await until(() => waiting.length === count);
        expect(sockets.size).toBe(1);
        waiting.at(-1)?.write(ok);
      }
      await Promise.all(calls);
      await upstream.close();
    });
  });

  describe('a connection that was never made: nothing has arrived', () => {
    const unsent = { failure: 'unavailable', isUnsent: true };

    test.each([
      ['nobody listens', 'http://127.0.0.1:1'],
      ['there is no such host', 'http://medplum.invalid'],
      ['there is no way', 'http://224.0.0.1'],
    ])('%s', async (_, url) => {
      expect(await call(url, 'POST')).toEqual(unsent);
    });
  });
});

const allHaveRun = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Room for one large answer, which is above a hundred bytes. */
const memoryOf = (more: Partial<Parameters<typeof createResponseMemory>[0]> = {}) =>
  createResponseMemory({
    largeBytes: 100,
    large: 1,
    largeWaitMs: 5_000,
    requestTimeoutMs: 10_000,
    ...more,
  });

/** A request of a client that reads so many bytes, and keeps its answer until it is released. */
function reading(memory: ReturnType<typeof createResponseMemory>, client: string, bytes: number) {
  const sender = Object.assign(new EventEmitter(), { closed: false, destroy: () => sender.emit('close') });
  const held = memory.hold(client, sender);
  const state = { release: () => sender.emit('finish'), outcome: 'waits' };
  void held.run(async () => {
    state.outcome = (await memory.grow(bytes)) ? 'reads' : 'refused';
  });
  return state;
}

test('large answers wait for others of their client and of all; small ones for nobody', async () => {
  const memory = memoryOf({ large: 2 });
  const [a1, a2, b, c, small] = [
    reading(memory, 'a', 101),
    reading(memory, 'a', 101),
    reading(memory, 'b', 101),
    reading(memory, 'c', 101),
    reading(memory, 'a', 100),
  ];
  const outcomes = async () => {
    await allHaveRun();
    return [a1, a2, b, c, small].map(({ outcome }) => outcome);
  };
  expect(await outcomes()).toEqual(['reads', 'waits', 'reads', 'waits', 'reads']);
  b.release();
  b.release();
  expect(await outcomes()).toEqual(['reads', 'waits', 'reads', 'reads', 'reads']);
  a1.release();
  expect(await outcomes()).toEqual(['reads', 'reads', 'reads', 'reads', 'reads']);
});

test('what waits too long is refused, what was released while it waited gives its place back, and a request has one place', async () => {
  const memory = memoryOf({ largeWaitMs: 50 });
  const first = reading(memory, 'a', 101);
  const second = reading(memory, 'b', 101);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect([first.outcome, second.outcome]).toEqual(['reads', 'refused']);
  const third = reading(memory, 'c', 101);
  third.release();
  first.release();
  await allHaveRun();
  const sender = new PassThrough();
  const held = memory.hold('d', sender);
  expect(
    await held.run(async () => [await memory.grow(60), await memory.grow(60), await memory.grow(60), memory.read()]),
  ).toEqual([true, true, true, 180]);
  sender.destroy();
  expect(await memory.grow(1_000)).toBe(true);
});

test('who does not receive an answer is cut off, and gives its place back', async () => {
  const memory = memoryOf({ requestTimeoutMs: 50 });
  reading(memory, 'a', 101);
  const waits = reading(memory, 'b', 101);
  await until(() => waits.outcome === 'reads');
});

test.each(['before it is carried out', 'before its answer grows large'])(
  'a request whose client goes %s keeps its place until it was carried out, and no longer',
  async (when) => {
    const memory = memoryOf();
    const sender = new PassThrough();
    const leave = async () => {
      sender.destroy();
      await allHaveRun();
    };
    await (when === 'before it is carried out' && leave());
    const read = Promise.withResolvers<void>();
    const carriedOut = memory.hold('a', sender).run(async () => {
      await leave();
      await memory.grow(101);
      await read.promise;
    });
    await allHaveRun();
    const waits = reading(memory, 'b', 101);
    await allHaveRun();
    expect(waits.outcome).toBe('waits');
    read.resolve();
    await carriedOut;
    await until(() => waits.outcome === 'reads');
  },
);
