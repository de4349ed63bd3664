import { describe, expect, test } from '@jest/globals';
import { createMemory } from '../../../gateway/medplum/memory.ts';

function remembering(size: number) {
  const clock = { now: 0 };
  return { clock, memory: createMemory<number>(size, 100, () => clock.now) };
}

describe('a memory', () => {
  test('knows a value for its time, however often it is asked', () => {
    const { clock, memory } = remembering(2);
    memory.set('a', 1);
    clock.now = 99;
    expect([memory.get('a'), memory.get('b')]).toEqual([1, undefined]);
    clock.now = 100;
    expect(memory.get('a')).toBeUndefined();
  });

  test('forgets the value that was not asked for longest, when it is full', () => {
    const { memory } = remembering(2);
    memory.set('a', 1);
    memory.set('b', 2);
    memory.get('a');
    memory.set('c', 3);
    expect(['a', 'b', 'c'].map(memory.get)).toEqual([1, undefined, 3]);
    memory.set('a', 4);
    memory.set('d', 5);
    expect(['a', 'c', 'd'].map(memory.get)).toEqual([4, undefined, 5]);
  });

  test('forgets what it is told to', () => {
    const { memory } = remembering(2);
    memory.set('a', 1);
    memory.set('b', 2);
    memory.forget('a');
    expect([memory.get('a'), memory.get('b')]).toEqual([undefined, 2]);
  });
});
