import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client';
import type { WebsocketCounts } from '../websocket/endpoint.ts';

/** The route a request was matched to, never its address: addresses hold patients' data. */
function routeOf(request: FastifyRequest): string {
  return request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown');
}

/** Routes that machines poll: their requests are logged at the level debug. */
const quiet: readonly string[] = ['/healthz', '/readyz'];

/** Adds one log line per request (method, route, status, milliseconds; no address, header or body), and the metrics. */
export function addMetrics(
  app: FastifyInstance,
  registry: Registry,
  inFlight: () => number,
  websockets: WebsocketCounts,
): void {
  const duration = new Histogram({
    name: 'booking_gateway_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its answer',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  new Gauge({
    name: 'booking_gateway_requests_in_flight',
    help: 'Requests being answered',
    registers: [registry],
    collect() {
      this.set(inFlight());
    },
  });
  new Gauge({
    name: 'booking_gateway_websockets',
    help: 'Websockets that are bound to Subscriptions',
    registers: [registry],
    collect() {
      this.set(websockets.bound());
    },
  });
  new Gauge({
    name: 'booking_gateway_websockets_unbound',
    help: 'Websockets that are open and not bound yet',
    registers: [registry],
    collect() {
      this.set(websockets.unbound());
    },
  });
  collectDefaultMetrics({ register: registry });
  app.addHook('onResponse', async (request, reply) => {
    const line = { method: request.method, route: routeOf(request), status: reply.statusCode };
    duration.observe({ ...line, status: String(line.status) }, reply.elapsedTime / 1000);
    const level = quiet.includes(line.route) ? 'debug' : 'info';
    request.log[level]({ ...line, ms: Math.round(reply.elapsedTime * 10) / 10 }, 'answered');
  });
}

/** The address of the metrics. */
export interface MetricsAddress {
  readonly port: number;
  readonly host: string;
}

/**
 * Serves `GET /metrics` in Prometheus' format on a port of its own, so that no client of the gateway can reach it.
 *
 * @returns the server, which listens; `close()` ends it
 */
export async function serveMetrics(registry: Registry, { port, host }: MetricsAddress): Promise<FastifyInstance> {
  const app = fastify({ logger: false, requestTimeout: 10_000, forceCloseConnections: true });
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()));
  await app.listen({ port, host });
  return app;
}
