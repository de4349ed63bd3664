import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { GatewayContext } from '../context.ts';

/** Whether the service is shutting down, and how many requests are being answered. */
interface GracefulShutdown {
  readonly isDraining: () => boolean;
  readonly inFlight: () => number;
}

const pollMs = 10;

/**
 * Lets the service end gracefully: once `app.close()` is called new requests are refused (the caller of `isDraining` does
 * that), and the server closes when every request, every call to Medplum and every Bot has finished, or the time is up.
 */
export function addGracefulShutdown(
  app: FastifyInstance,
  { limits, upstream, bots }: GatewayContext,
): GracefulShutdown {
  let isDraining = false;
  const open = new WeakSet<object>();
  let inFlight = 0;
  app.addHook('onRequest', async (request, reply) => {
    if (!isDraining) {
      inFlight++;
      open.add(request);
      reply.raw.once('close', () => {
        inFlight -= open.delete(request) ? 1 : 0;
      });
    }
  });
  app.addHook('preClose', async () => {
    isDraining = true;
    const deadline = performance.now() + limits.drainTimeoutMs;
    const isBusy = (): boolean => inFlight > 0 || upstream.pending() > 0 || bots.pending() > 0;
    while (isBusy() && performance.now() < deadline) {
      await wait(pollMs);
    }
    // An idle connection would delay the end for minutes; operators are told to wait five seconds more.
    setTimeout(() => app.server.closeAllConnections(), 3_000).unref();
  });
  app.addHook('onClose', async () => upstream.close());
  return { isDraining: () => isDraining, inFlight: () => inFlight };
}
