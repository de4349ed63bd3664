import { Duplex } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import pino from 'pino';
import { Registry } from 'prom-client';
import type { GatewayContext } from '../../../gateway/context.ts';
import {
  addErrorHandler,
  errorResponse,
  refuseConnection,
  respondToBrokenConnection,
} from '../../../gateway/operations/error-handler.ts';
import { addGracefulShutdown } from '../../../gateway/operations/graceful-shutdown.ts';
import { addMetrics, serveMetrics } from '../../../gateway/operations/metrics.ts';
import { until } from '../../lib/until.ts';
import { config, gatewayTo, withGateway } from '../fake-medplum.ts';

/** A service with so much work that is not over, and what became of it. */
function serviceWith(work: { calls?: number; bots?: number } = {}, drainTimeoutMs = 60_000) {
  const left = { calls: 0, bots: 0, ...work };
  const state = { isClosed: false, areCallsEnded: false };
  const context = {
    limits: { drainTimeoutMs },
    upstream: {
      pending: () => left.calls,
      close: async () => {
        state.areCallsEnded = true;
      },
    },
    bots: { pending: () => left.bots },
  };
  const app = fastify({ return503OnClosing: false });
  const { isDraining, inFlight } = addGracefulShutdown(app, context as unknown as GatewayContext);
  const gate = Promise.withResolvers<void>();
  app.get('/slow', async () => gate.promise.then(() => 'ok'));
  app.get('/quick', async () => String(inFlight()));
  const close = () =>
    app.close().then(() => {
      state.isClosed = true;
    });
  return { app, left, state, isDraining, inFlight, finish: () => gate.resolve(), close };
}

describe('a service that ends', () => {
  test.each(['calls', 'bots'] as const)('waits until its %s are finished', async (kind) => {
    const { left, state, isDraining, close } = serviceWith({ [kind]: 1 });
    expect(isDraining()).toBe(false);
    const closing = close();
    await until(isDraining);
    await new Promise((resolve) => setImmediate(resolve));
    expect(state).toEqual({ isClosed: false, areCallsEnded: false });
    left[kind] = 0;
    await closing;
    expect(state).toEqual({ isClosed: true, areCallsEnded: true });
  });

  test('waits until its requests are answered, and counts no new ones', async () => {
    const { app, state, isDraining, inFlight, finish, close } = serviceWith();
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    const slow = fetch(`${url}/slow`);
    await until(() => inFlight() === 1);
    const closing = close();
    await until(isDraining);
    expect([await (await fetch(`${url}/quick`)).text(), state.isClosed]).toEqual(['1', false]);
    finish();
    expect((await slow).status).toBe(200);
    await closing;
    expect(inFlight()).toBe(0);
  });
});

const { fake, inject } = withGateway();

describe('a gateway is ready', () => {
  const ready = { status: 'ready', bots: config.bots };

  test('and says where the Bots run', async () => {
    fake.answer = () => ({ body: { ok: true } });
    expect((await inject('/readyz')).json()).toEqual(ready);
  });

  test('unless Medplum is not', async () => {
    fake.answer = () => ({ status: 503 });
    const response = await inject('/readyz');
    expect([response.statusCode, response.headers['content-type'], response.json().issue[0].code]).toEqual([
      503,
      'application/fhir+json; charset=utf-8',
      'transient',
    ]);
  });
});

test('metrics are served on a port of their own, and nothing else is there', async () => {
  const metrics = new Registry();
  const gateway = gatewayTo({ url: 'http://127.0.0.1:1' }, {}, { metrics });
  await gateway.inject('/healthz');
  const server = await serveMetrics(metrics, { port: 0, host: '127.0.0.1' });
  const [address] = server.addresses();
  const port = typeof address === 'object' ? address.port : 0;
  const at = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  const found = await at('/metrics');
  expect([found.status, found.headers.get('content-type')]).toEqual([200, metrics.contentType]);
  expect(await found.text()).toContain('route="/healthz",status="200"');
  expect((await at('/fhir/R4/metadata')).status).toBe(404);
  await Promise.all([server.close(), gateway.close()]);
});

describe('what a request leaves behind', () => {
  const lines: Record<string, unknown>[] = [];
  const logger: FastifyBaseLogger = pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const [registry, calls] = [new Registry(), { inFlight: 3, bound: 4, unbound: 5 }];
  const app = fastify({ loggerInstance: logger, logController: new LogController({ disableRequestLogging: true }) });
  addMetrics(app, registry, () => calls.inFlight, { bound: () => calls.bound, unbound: () => calls.unbound });
  app.get('/Patient/:id', async () => 'ok');
  app.get('/readyz', async () => 'ok');
  app.get('/healthz', async () => 'ok');
  afterAll(() => app.close());

  test.each([
    ['/Patient/geheim?name=geheim', '/Patient/:id', 200, 30],
    ['/geheim', 'unknown', 404, 30],
    ['/healthz', '/healthz', 200, 20],
    ['/readyz', '/readyz', 200, 20],
  ])('%s is a line of the log, by its route', async (url, route, status, level) => {
    lines.length = 0;
    await app.inject(url);
    expect(lines).toEqual([
      expect.objectContaining({ level, msg: 'answered', method: 'GET', route, status, ms: expect.any(Number) }),
    ]);
    expect(JSON.stringify(lines)).not.toContain('geheim');
    expect(Number((lines[0]?.ms as number) * 10) % 1).toBeCloseTo(0, 6);
  });
});

describe('the answer to something thrown', () => {
  test.each<[string, unknown, number]>([
    ['of the client’s making', Object.assign(new Error('x'), { statusCode: 413 }), 413],
    ['without a refusal of its own', Object.assign(new Error('x'), { statusCode: 400 }), 400],
    ['of a status that is none of an error', Object.assign(new Error('x'), { statusCode: 399 }), 500],
    ['with a status that is no number', Object.assign(new Error('x'), { statusCode: 'x' }), 500],
    ['of our making', new Error('x'), 500],
    ['that is no error', { statusCode: 413 }, 500],
    ['that is nothing', undefined, 500],
  ])('%s has its status', (_, thrown, status) => {
    const response = errorResponse(thrown);
    expect([response.status, response.resource?.resourceType]).toEqual([status, 'OperationOutcome']);
  });
});

describe('a route that throws', () => {
  let app: FastifyInstance;
  let thrown: unknown;
  const lines: Record<string, unknown>[] = [];

  beforeAll(() => {
    const logger: FastifyBaseLogger = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) });
    app = fastify({ loggerInstance: logger });
    addErrorHandler(app, { rewriteResource: (resource) => resource } as Parameters<typeof addErrorHandler>[1]);
    app.get('/', async (_, reply) => {
      reply.header('connection', 'close');
      throw thrown;
    });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    lines.length = 0;
  });

  test('is answered with an OperationOutcome; the log tells what failed and where, and not with what', async () => {
    thrown = Object.assign(new RangeError('Secret\n    at Secret'), { code: 'E_X' });
    const response = await app.inject('/');
    expect([response.statusCode, response.headers['content-type'], response.json().issue]).toEqual([
      500,
      'application/fhir+json; charset=utf-8',
      [expect.objectContaining({ code: 'exception' })],
    ]);
    expect(response.headers.connection).not.toBe('close');
    expect(lines).toEqual([expect.objectContaining({ level: 50, type: 'RangeError', code: 'E_X', msg: 'failed' })]);
    expect(lines[0]?.frames).toContainEqual(expect.stringMatching(/^\s+at .*operations\.test\.ts/));
    expect(JSON.stringify(lines[0]?.frames)).not.toContain('RangeError');
  });
});

/** A connection on which is kept what was written. */
function connection(isWritable = true) {
  const written: string[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write: (chunk, _encoding, done) => {
      written.push(String(chunk));
      done();
    },
  });
  if (!isWritable) {
    socket.end();
  }
  return { socket, written };
}

describe('a connection that is refused', () => {
  test('gets a whole answer, and is closed although the client goes on', async () => {
    const { socket, written } = connection();
    refuseConnection(socket, 'bad-request', 'Ünknown.');
    const [head = '', body = ''] = written.join('').split('\r\n\r\n');
    expect(head.split('\r\n')).toEqual([
      'HTTP/1.1 400 Bad Request',
      'Content-Type: application/fhir+json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
    ]);
    expect(JSON.parse(body)).toMatchObject({ resourceType: 'OperationOutcome', issue: [{ diagnostics: 'Ünknown.' }] });
    expect(socket.destroyed).toBe(false);
    await until(() => socket.destroyed);
  });
});

describe('a connection on which no request could be read', () => {
  test.each([
    ['HPE_HEADER_OVERFLOW', 431],
    ['ERR_HTTP_REQUEST_TIMEOUT', 408],
    ['HPE_INVALID_METHOD', 400],
    [undefined, 400],
  ])('%s: %i', (code, status) => {
    const { socket, written } = connection();
    respondToBrokenConnection(Object.assign(new Error('x'), code && { code }), socket);
    expect(written.join('')).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    socket.destroy();
  });
});
