import { expect, test } from '@jest/globals';
import { createAnswerMemory } from '../../../gateway/medplum/answer-memory.ts';

const allHaveRun = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A request of a client that reads so many bytes, and keeps its answer until it is released. */
function reading(memory: ReturnType<typeof createAnswerMemory>, client: string, bytes: number) {
  const held = memory.hold(client);
  const state = { release: held.release, outcome: 'waits' };
  void held.run(async () => {
    state.outcome = (await memory.grow(bytes)) ? 'reads' : 'refused';
  });
  return state;
}

test('large answers wait for others of their client and of all; small ones for nobody', async () => {
  const memory = createAnswerMemory({ largeBytes: 100, largePerClient: 1, large: 2, placeMs: 10_000 });
  const [a1, a2, b, c, small] = [
    reading(memory, 'a', 101),
    reading(memory, 'a', 101),
    reading(memory, 'b', 101),
    reading(memory, 'c', 101),
    reading(memory, 'a', 100),
  ];
  const outcomes = async () => {
    await allHaveRun();
    return [a1, a2, b, c, small].map(({ outcome }) => outcome);
  };
  expect(await outcomes()).toEqual(['reads', 'waits', 'reads', 'waits', 'reads']);
  b.release();
  b.release();
  expect(await outcomes()).toEqual(['reads', 'waits', 'reads', 'reads', 'reads']);
  a1.release();
  expect(await outcomes()).toEqual(['reads', 'reads', 'reads', 'reads', 'reads']);
});

test('what waits too long is refused, what was released while it waited gives its place back, and a request has one place', async () => {
  const memory = createAnswerMemory({ largeBytes: 100, largePerClient: 1, large: 1, placeMs: 50 });
  const first = reading(memory, 'a', 101);
  const second = reading(memory, 'b', 101);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect([first.outcome, second.outcome]).toEqual(['reads', 'refused']);
  const third = reading(memory, 'c', 101);
  third.release();
  first.release();
  await allHaveRun();
  const held = memory.hold('d');
  expect(
    await held.run(async () => [await memory.grow(60), await memory.grow(60), await memory.grow(60), memory.read()]),
  ).toEqual([true, true, true, 180]);
  held.release();
  expect(await memory.grow(1_000)).toBe(true);
});
