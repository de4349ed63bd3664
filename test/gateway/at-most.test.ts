import { expect, test } from '@jest/globals';
import { atMost } from '../../gateway/at-most.ts';

const forever = new Promise<void>(() => undefined);
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

test('waits for all that is under way', async () => {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isOver = false;
  const waiting = atMost(60_000, [first.promise, second.promise]).then(() => {
    isOver = true;
  });
  first.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  second.resolve();
  await waiting;
});

test('does not wait for longer than it may take', async () => {
  await expect(atMost(1, [forever])).resolves.toBeUndefined();
});

test('fails with what fails', async () => {
  await expect(atMost(60_000, [forever, Promise.reject(new Error('no'))])).rejects.toThrow('no');
});

test('leaves no timer behind', async () => {
  const before = timers();
  await atMost(60_000, []);
  await atMost(60_000, [Promise.reject(new Error('no'))]).catch(() => undefined);
  expect(timers()).toBeLessThanOrEqual(before);
});
