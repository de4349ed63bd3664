import { setTimeout as wait } from 'node:timers/promises';

/** Waits until a condition holds; fails after ten seconds. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > deadline) {
      throw new Error('The condition did not come to hold in time.');
    }
    await wait(5);
  }
}
