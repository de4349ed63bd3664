import type { FastifyInstance } from 'fastify';
import type { GatewayContext } from '../context.ts';
import { defaultRepresentation, send } from '../http/response.ts';
import { isSuccess, upstreamProblem } from '../medplum/errors.ts';

/**
 * Adds `/healthz` (the process is alive) and `/readyz` (Medplum answers within a short time; also where the Bots run).
 * During a shutdown both respond with 503, like every other path.
 */
export function addHealth(app: FastifyInstance, { upstream, limits, config, addresses }: GatewayContext): void {
  let asking: ReturnType<typeof upstream.call> | undefined;
  const ask = (): ReturnType<typeof upstream.call> => {
    asking ??= upstream.call({ method: 'GET', path: 'healthcheck', timeoutMs: limits.readyTimeoutMs }).finally(() => {
      asking = undefined;
    });
    return asking;
  };
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const found = await ask();
    return isSuccess(found)
      ? { status: 'ready', bots: config.bots }
      : send(reply, upstreamProblem(found, config), defaultRepresentation, addresses);
  });
}
