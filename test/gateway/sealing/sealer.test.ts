import { describe, expect, test } from '@jest/globals';
import { createSealer, parseKey } from '../../../gateway/sealing/sealer.ts';

const key = Buffer.alloc(32, 1);
const sealer = createSealer(key, 'tests');

/** A text in which one byte is another one. */
function changed(sealed: string, index: number): string {
  const bytes = Buffer.from(sealed, 'base64url');
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  return bytes.toString('base64url');
}

test('what was sealed is opened, each time by another text', () => {
  const [one, other] = [sealer.seal('secret', 'a'), sealer.seal('secret', 'a')];
  expect([sealer.open(one, 'a'), sealer.open(other, 'a')]).toEqual(['secret', 'secret']);
  expect(one).not.toBe(other);
  expect(one).toMatch(/^[\w-]+$/);
});

describe('nothing is opened', () => {
  const sealed = sealer.seal('secret', 'a');
  test.each([
    ['of another owner', () => sealer.open(sealed, 'b')],
    ['of no owner', () => sealer.open(sealed)],
    ['for another purpose', () => createSealer(key, 'other').open(sealed, 'a')],
    ['with another key', () => createSealer(Buffer.alloc(32, 2), 'tests').open(sealed, 'a')],
    ['that is empty', () => sealer.open('', 'a')],
    ['that is too short', () => sealer.open(sealed.slice(0, 20), 'a')],
    ['that is no base64', () => sealer.open('%%%', 'a')],
  ])('%s', (_, open) => {
    expect(open()).toBeUndefined();
  });

  test('in which any byte was changed', () => {
    const { length } = Buffer.from(sealed, 'base64url');
    for (let index = 0; index < length; index++) {
      expect(sealer.open(changed(sealed, index), 'a')).toBeUndefined();
    }
  });
});

test('a tag that was shortened opens nothing', () => {
  const empty = Buffer.from(sealer.seal('', 'a'), 'base64url');
  for (let length = 12; length < empty.length; length++) {
    expect(sealer.open(empty.subarray(0, length).toString('base64url'), 'a')).toBeUndefined();
  }
  expect(sealer.open(empty.toString('base64url'), 'a')).toBe('');
});

test('a repeatable sealer seals the same alike, and everything else differently', () => {
  const { seal, open } = createSealer(key, 'tests', true);
  const all = [seal('secret', 'a'), seal('secret', 'b'), seal('other', 'a'), seal('secret')];
  expect(seal('secret', 'a')).toBe(all[0]);
  const nonces = all.map((sealed) => sealed.slice(0, 16));
  expect(new Set(nonces).size).toBe(4);
  expect(open(all[0] ?? '', 'a')).toBe('secret');
});

test.each(['', 'short', Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64')])(
  'a key of any other length is refused, with how to make one: %s',
  (text) => {
    expect(() => parseKey(text)).toThrow('openssl rand -base64 32');
  },
);
