import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createClientPlaces } from '../../../gateway/admission/client-places.ts';

describe('the places of a client', () => {
  test('are as many as allowed; the next waits for one that is given back, in turn', async () => {
    const places = createClientPlaces({ running: 1, waiting: 2, patienceMs: 60_000 });
    const first = await places.take('a');
    const order: string[] = [];
    const waiting = ['second', 'third'].map(async (name) => {
      const giveBack = await places.take('a');
      order.push(name);
      giveBack?.();
    });
    expect(await places.take('a')).toBeUndefined();
    expect(order).toEqual([]);
    first?.();
    await Promise.all(waiting);
    expect(order).toEqual(['second', 'third']);
  });

  test('are counted on while some of them are taken', async () => {
    const places = createClientPlaces({ running: 2, waiting: 0, patienceMs: 60_000 });
    const first = await places.take('a');
    await places.take('a');
    first?.();
    expect(await places.take('a')).toBeDefined();
    expect(await places.take('a')).toBeUndefined();
  });

  test('are not those of another', async () => {
    const places = createClientPlaces({ running: 1, waiting: 0, patienceMs: 60_000 });
    expect(await places.take('a')).toBeDefined();
    expect(await places.take('a')).toBeUndefined();
    expect(await places.take('b')).toBeDefined();
  });

  test('are not waited for longer than allowed, and nothing is lost by it', async () => {
    const places = createClientPlaces({ running: 1, waiting: 1, patienceMs: 10 });
    const first = await places.take('a');
    expect(await places.take('a')).toBeUndefined();
    first?.();
    expect(await places.take('a')).toBeDefined();
  });

  test('are never more than allowed, and all of them come back', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 30 }), async (running, count) => {
        const places = createClientPlaces({ running, waiting: count, patienceMs: 60_000 });
        let [now, most] = [0, 0];
        const work = async () => {
          const giveBack = await places.take('a');
          most = Math.max(most, ++now);
          await Promise.resolve();
          now--;
          giveBack?.();
        };
        await Promise.all(Array.from({ length: count }, work));
        expect(most).toBe(Math.min(running, count));
        const again = await Promise.all(Array.from({ length: running }, () => places.take('a')));
        expect(again.every((giveBack) => giveBack !== undefined)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
});
