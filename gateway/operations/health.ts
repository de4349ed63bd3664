import type { FastifyInstance } from 'fastify';
import type { GatewayContext } from '../context.ts';
import { defaultRepresentation, send } from '../http/response.ts';
import { isSuccess, upstreamProblem } from '../medplum/errors.ts';

/**
 * Adds `/healthz` (the process lives) and `/readyz` (Medplum answers, within a short time; and where the
 * Bots run). While the service shuts
 * down neither is reached: every new request is answered 503.
 */
export function addHealth(app: FastifyInstance, { upstream, limits, config, addresses }: GatewayContext): void {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const found = await upstream.call({ method: 'GET', path: 'healthcheck', timeoutMs: limits.readyTimeoutMs });
    return isSuccess(found)
      ? { status: 'ready', bots: config.bots }
      : send(reply, upstreamProblem(found, config), defaultRepresentation, addresses);
  });
}
