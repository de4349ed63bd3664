import { expect, test } from '@jest/globals';
import { parseCredentialKeys } from '../../../gateway/sealing/credential-keys.ts';
import { isSealedSecret, openSecret, sealSecret } from '../../../gateway/sealing/sealed-secret.ts';
import { keysOf, keyText } from './keys.ts';

const sealed = sealSecret(keysOf(1), 'portal', 'a-secret');

test('a secret is opened for its client alone', () => {
  expect(isSealedSecret(sealed)).toBe(true);
  expect(sealed).toMatch(/^sealed\.[\w-]{8}\.[\w-]+$/);
  expect(sealed).not.toContain('a-secret');
  expect(openSecret(keysOf(1), 'portal', sealed)).toBe('a-secret');
  expect(openSecret(keysOf(1), 'other', sealed)).toBeUndefined();
});

test('it is the same whenever it is sealed', () => {
  expect(sealSecret(keysOf(1), 'portal', 'a-secret')).toBe(sealed);
});

test('secrets that portals have are opened by every later version', () => {
  expect(sealed).toBe('sealed.Zl27A9iV.nppBzLcIYMLYeW8Je6G6vt4vvs4TtsSKCOgFUlbUuWZ1lVbY');
  expect(openSecret(keysOf(2, 1), 'portal', sealed)).toBe('a-secret');
});

test('an old key opens it, a given up one does not, and the newest seals', () => {
  expect(openSecret(keysOf(2, 1), 'portal', sealed)).toBe('a-secret');
  expect(openSecret(keysOf(2), 'portal', sealed)).toBeUndefined();
  const renewed = sealSecret(keysOf(2, 1), 'portal', 'a-secret');
  expect(openSecret(keysOf(2), 'portal', renewed)).toBe('a-secret');
});

test.each(['sealed', 'sealed.', 'sealed..', `sealed.unknown.${'a'.repeat(60)}`, `${sealed.slice(0, -4)}AAAA`])(
  'nothing is in %s',
  (text) => {
    expect(openSecret(keysOf(1), 'portal', text)).toBeUndefined();
  },
);

test('what is too long is not looked at', () => {
  const long = sealSecret(keysOf(1), 'portal', 'x'.repeat(1_000));
  expect(openSecret(keysOf(1), 'portal', long)).toBeUndefined();
});

test('it is opened up to 1,024 characters', () => {
  const all = [...Array(60)].map((_, index) => sealSecret(keysOf(1), 'portal', 'x'.repeat(700 + index)));
  const lengths = (isOpened: boolean) =>
    all.filter((one) => (openSecret(keysOf(1), 'portal', one) !== undefined) === isOpened).map(({ length }) => length);
  expect([Math.max(...lengths(true)), Math.min(...lengths(false))]).toEqual([1_024, 1_026]);
});

test.each(['f'.repeat(64), 'sealed', 'sealedx.a.b', 'x.sealed.a.b', ''])(
  'Medplum’s own secrets are not sealed: %s',
  (secret) => {
    expect(isSealedSecret(secret)).toBe(false);
  },
);

test('there are at most five keys, and each must be one', () => {
  expect(parseCredentialKeys([1, 2, 3, 4, 5].map(keyText).join(', '))).toHaveLength(5);
  expect(() => parseCredentialKeys([1, 2, 3, 4, 5, 6].map(keyText).join(','))).toThrow('At most 5 keys');
  expect(() => parseCredentialKeys(`${keyText(1)},`)).toThrow('openssl rand -base64 32');
  expect(() => parseCredentialKeys('short')).toThrow('openssl rand -base64 32');
});
