import { afterAll, describe, expect, test } from '@jest/globals';
import fastify, { type FastifyBaseLogger, LogController } from 'fastify';
import pino from 'pino';
import { Registry } from 'prom-client';
import { addMetrics, serveMetrics } from '../../../gateway/operations/metrics.ts';
import { gatewayTo } from '../fake-medplum.ts';

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

  test('its time is counted in seconds, by method, route and status', async () => {
    const text = await registry.metrics();
    const duration = 'booking_gateway_request_duration_seconds';
    expect(text).toContain(`# HELP ${duration} Time from the arrival of a request to the end of its answer`);
    for (const most of [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]) {
      expect(text).toContain(`${duration}_bucket{le="${most}",method="GET",route="unknown",status="404"}`);
    }
    expect(text).toContain(`${duration}_bucket{le="10",method="GET",route="/Patient/:id",status="200"} 1`);
  });

  test('what goes on is told when it is asked for', async () => {
    const numbers = async () =>
      (await registry.metrics()).split('\n').filter((line) => /^booking_gateway_[a-z_]+ \d+$/.test(line));
    expect(await numbers()).toEqual([
      'booking_gateway_requests_in_flight 3',
      'booking_gateway_websockets 4',
      'booking_gateway_websockets_unbound 5',
    ]);
    Object.assign(calls, { inFlight: 0, bound: 1, unbound: 2 });
    expect(await numbers()).toEqual([
      'booking_gateway_requests_in_flight 0',
      'booking_gateway_websockets 1',
      'booking_gateway_websockets_unbound 2',
    ]);
    const text = await registry.metrics();
    for (const help of [
      'requests_in_flight Requests being answered',
      'websockets Websockets that are bound to Subscriptions',
      'websockets_unbound Websockets that are open and not bound yet',
    ]) {
      expect(text).toContain(`# HELP booking_gateway_${help}\n`);
    }
    expect(text).toContain('process_cpu_user_seconds_total');
  });
});
