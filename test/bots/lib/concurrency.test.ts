import { expect, it } from '@jest/globals';
import { mapConcurrently } from '../../../bots/lib/concurrency.ts';

/** Something that is done about items; it notes how many are being processed at the same time at most. */
function counting(failing: readonly number[] = []) {
  const seen: number[] = [];
  let [current, most] = [0, 0];
  const act = async (item: number): Promise<string> => {
    seen.push(item);
    current += 1;
    most = Math.max(most, current);
    // The first ones take longest.
    for (let turns = 10 - item; turns > 0; turns--) {
      await Promise.resolve();
    }
    current -= 1;
    if (failing.includes(item)) {
      throw new Error(`Not ${item}`);
    }
    return `${item}`;
  };
  return { act, seen, most: () => most };
}

it.each([
  [1, 1],
  [2, 2],
  [5, 5],
  [9, 5],
])('of five items %d at a time are processed', async (atOnce, expected) => {
  const { act, most } = counting();
  expect(await mapConcurrently([1, 2, 3, 4, 5], atOnce, act)).toEqual(['1', '2', '3', '4', '5']);
  expect(most()).toBe(expected);
});

it('a failure is thrown after all items are processed, the first of several', async () => {
  const { act, seen } = counting([2, 4]);
  await expect(mapConcurrently([1, 2, 3, 4, 5], 2, act)).rejects.toThrow('Not 2');
  expect(seen).toEqual([1, 2, 3, 4, 5]);
});
