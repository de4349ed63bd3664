import { describe, expect, test } from '@jest/globals';
import fastify from 'fastify';
import type { GatewayContext } from '../../../gateway/context.ts';
import { addGracefulShutdown } from '../../../gateway/operations/graceful-shutdown.ts';
import { until } from '../../lib/until.ts';

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
  test('counts the requests that are being answered', async () => {
    const { app, inFlight, finish, close } = serviceWith();
    expect(inFlight()).toBe(0);
    const slow = [app.inject('/slow'), app.inject('/slow')];
    await until(() => inFlight() === 2);
    await app.inject('/quick');
    await until(() => inFlight() === 2);
    finish();
    await Promise.all(slow);
    await until(() => inFlight() === 0);
    await close();
  });

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

  test('waits no longer than allowed', async () => {
    const { state, close } = serviceWith({ calls: 1 }, 50);
    await close();
    expect(state).toEqual({ isClosed: true, areCallsEnded: true });
  });
});
