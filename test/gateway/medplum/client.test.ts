import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { defaultLimits } from '../../../gateway/context.ts';
import { createUpstream, type UpstreamLimits } from '../../../gateway/medplum/client.ts';
import { config } from '../fake-medplum.ts';

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
  server?.close();
});

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
const call = async (url: string, method: 'GET' | 'POST', limits: Partial<UpstreamLimits> = {}) => {
  const upstream = createUpstream(url, { ...defaultLimits(config), responseBytes: 1000, ...limits });
  const answer = await upstream.call({ method, path: 'fhir/R4/Slot', ...(method === 'POST' && { body: '{}' }) });
  expect(upstream.pending()).toBe(0);
  await upstream.close();
  return answer;
};

describe('faults of Medplum', () => {
  test.each<[string, string, string]>([
    ['half a body', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"a":', 'broken'],
    ['half a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a"', 'broken'],
    ['no HTTP', 'hello\r\n\r\n', 'unavailable'],
    ['nothing', '', 'unavailable'],
    ['too much', `HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n${'1'.repeat(5000)}`, 'broken'],
  ])('%s, then the end', async (_name, sent, failure) => {
    const url = await startServer((socket) => socket.end(sent));
    expect(await call(url, 'POST')).toEqual({ failure });
  });

  test('half a body, then silence: a time-out', async () => {
    const url = await startServer((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{'));
    expect(await call(url, 'GET', { upstreamTimeoutMs: 200 })).toEqual({ failure: 'timeout' });
  });

  test('silence: a time-out', async () => {
    const url = await startServer(() => undefined);
    expect(await call(url, 'GET', { upstreamTimeoutMs: 200 })).toEqual({ failure: 'timeout' });
  });

  test.each([
    ['GET', 3, 200],
    ['POST', 2, undefined],
  ] as const)('a kept connection that is dead: %s is sent %i times in all', async (method, times, status) => {
    let count = 0;
    const url = await startServer((socket) => {
      count++;
      if (count === 2) {
        socket.destroy();
      } else {
        socket.write(ok);
      }
    });
    const upstream = createUpstream(url, defaultLimits(config));
    await upstream.call({ method: 'GET', path: 'a' });
    const answer = await upstream.call({ method, path: 'b', ...(method === 'POST' && { body: '{}' }) });
    expect('status' in answer ? answer.status : undefined).toBe(status);
    expect(count).toBe(times);
    await upstream.close();
  });
});
