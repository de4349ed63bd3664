import { describe, expect, it } from '@jest/globals';
import { createMemory } from '../../../gateway/medplum/memory.ts';

describe('what a gateway remembers', () => {
  const keys = (from: number, count: number) => Array.from({ length: count }, (_, index) => `${from + index}`);

  it('is at most so much, and not what was needed least lately', () => {
    const memory = createMemory<string>(3, 1_000, () => 0);
    for (const key of keys(0, 1_000)) {
      memory.set(key, key);
      expect(memory.get('0')).toBe('0');
    }
    memory.set('998', 'anew');
    memory.set('1000', '1000');
    expect(keys(0, 1_001).filter((key) => memory.get(key) !== undefined)).toEqual(['0', '998', '1000']);
  });

  it('is forgotten after some time', () => {
    let now = 0;
    const memory = createMemory<string>(3, 1_000, () => now);
    memory.set('1', 'one');
    now = 1_000;
    expect(memory.get('1')).toBeUndefined();
    memory.forget('1');
    memory.set('2', 'two');
    expect(memory.get('2')).toBe('two');
    // The clock is set back.
    now = -3_600_000;
    expect(memory.get('2')).toBeUndefined();
  });
});
