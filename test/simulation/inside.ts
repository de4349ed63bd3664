import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire, syncBuiltinESMExports } from 'node:module';

/** Not imported: Jest keeps the functions of a module that is imported as they were then. */
const require = createRequire(import.meta.url);
const timers: typeof import('node:timers') = require('node:timers');
const promises: typeof import('node:timers/promises') = require('node:timers/promises');

/** What code that runs inside a simulated world finds in the place of the clock and the network. */
export interface Inside {
  /** Milliseconds since 1970 UTC. */
  now(): number;
  /** From 0 to below 1. */
  random(): number;
  /** Sends a request to the world's Medplum. */
  fetch(
    url: string,
    init: { method?: string; headers?: Readonly<Record<string, string>>; body?: string },
  ): Promise<{
    status: number;
    json(): Promise<unknown>;
  }>;
  /** The server waits before it tries a transaction again. */
  retry(): Promise<void>;
}

const inside = new AsyncLocalStorage<Inside>();

/** Runs something inside a world: its clock, its network and its pauses are those of the world. */
export const runInside = <T>(world: Inside, act: () => T): T => inside.run(world, act);

/** A pause that ends at once; a longer one is a time limit, which nothing exceeds here. */
const MAX_PAUSE = 2_000;

const real = {
  now: Date.now,
  random: Math.random,
  fetch: globalThis.fetch,
  setTimeout: globalThis.setTimeout,
  timersSetTimeout: timers.setTimeout,
  pause: promises.setTimeout,
};

/** A timer of a world: a short pause ends at once, a time limit never. Nothing asks it to stop. */
function pretended(callback: () => void, delay: number, isServer: boolean, world: Inside): NodeJS.Timeout {
  const timer = { ref: () => timer, unref: () => timer, hasRef: () => false };
  if (delay <= MAX_PAUSE) {
    (isServer ? world.retry() : Promise.resolve()).then(callback, callback);
  }
  return timer as unknown as NodeJS.Timeout;
}

function withPretended(original: typeof setTimeout, isServer: boolean): typeof setTimeout {
  const replaced = (callback: (...given: unknown[]) => void, delay = 0, ...given: unknown[]): NodeJS.Timeout => {
    const world = inside.getStore();
    return world
      ? pretended(() => callback(...given), delay, isServer, world)
      : original(() => callback(...given), delay);
  };
  return Object.assign(replaced, original);
}

/**
 * Puts the worlds' clock and network in the place of the process's, for code inside a world only. It must be called before
 * the sources of Bots are loaded.
 */
export function install(): void {
  Date.now = () => inside.getStore()?.now() ?? real.now.call(Date);
  Math.random = () => inside.getStore()?.random() ?? real.random();
  globalThis.fetch = ((url: string, init: RequestInit) => {
    const world = inside.getStore();
    return world ? world.fetch(url, init as Parameters<Inside['fetch']>[1]) : real.fetch(url, init);
  }) as typeof fetch;
  // Inside a world only the server waits by the global function, and the Bots by that of the module.
  globalThis.setTimeout = withPretended(real.setTimeout, true);
  timers.setTimeout = withPretended(real.timersSetTimeout, false);
  promises.setTimeout = ((delay?: number, value?: unknown, options?: object) =>
    inside.getStore() ? Promise.resolve(value) : real.pause(delay, value, options)) as typeof promises.setTimeout;
  syncBuiltinESMExports();
  // What a Bot logs is not shown.
  const { error } = console;
  console.error = (...given: unknown[]) => (inside.getStore() ? undefined : error(...given));
}

/** Lets everything run that does not wait for the scheduler. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
