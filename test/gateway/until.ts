import { setTimeout as wait } from 'node:timers/promises';

/** Waits until a condition holds; fails after `limit` milliseconds. */
export async function until(condition: () => boolean, limit = 10_000): Promise<void> {
  const deadline = performance.now() + limit;
  while (!condition()) {
    if (performance.now() > deadline) {
      throw new Error('The condition did not come to hold in time.');
    }
    await wait(5);
  }
}
