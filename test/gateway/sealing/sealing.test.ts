import { describe, expect, test } from '@jest/globals';
import type { Caller } from '../../../gateway/medplum/current-profile.ts';
import { createAccessTokens, isPortal, type UnsealedPolicy } from '../../../gateway/sealing/access-tokens.ts';
import { parseCredentialKeys } from '../../../gateway/sealing/credential-keys.ts';
import { isSealedSecret, openSecret, sealSecret } from '../../../gateway/sealing/sealed-secret.ts';
import type { OpenedToken, SealedTokens } from '../../../gateway/sealing/sealed-token.ts';
import { createSealer, parseKey } from '../../../gateway/sealing/sealer.ts';
import { keysOf, keyText } from './keys.ts';

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

test.each(['', 'short', Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64')])(
  'a key of any other length is refused, with how to make one: %s',
  (text) => {
    expect(() => parseKey(text)).toThrow('openssl rand -base64 32');
  },
);

const sealed = sealSecret(keysOf(1), 'portal', 'a-secret');

test('a secret is opened for its client alone', () => {
  expect(isSealedSecret(sealed)).toBe(true);
  expect(sealed).toMatch(/^sealed\.[\w-]{8}\.[\w-]+$/);
  expect(sealed).not.toContain('a-secret');
  expect(openSecret(keysOf(1), 'portal', sealed)).toBe('a-secret');
  expect(openSecret(keysOf(1), 'other', sealed)).toBeUndefined();
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

test('it is opened up to 1,024 characters', () => {
  const all = [...Array(60)].map((_, index) => sealSecret(keysOf(1), 'portal', 'x'.repeat(700 + index)));
  const lengths = (isOpened: boolean) =>
    all.filter((one) => (openSecret(keysOf(1), 'portal', one) !== undefined) === isOpened).map(({ length }) => length);
  expect([Math.max(...lengths(true)), Math.min(...lengths(false))]).toEqual([1_024, 1_026]);
});

test('there are at most five keys, and each must be one', () => {
  expect(parseCredentialKeys([1, 2, 3, 4, 5].map(keyText).join(', '))).toHaveLength(5);
  expect(() => parseCredentialKeys([1, 2, 3, 4, 5, 6].map(keyText).join(','))).toThrow('At most 5 keys');
  expect(() => parseCredentialKeys(`${keyText(1)},`)).toThrow('openssl rand -base64 32');
  expect(() => parseCredentialKeys('short')).toThrow('openssl rand -base64 32');
});

const caller = (profileType: string, role: Caller['role']): Caller => ({
  profileType,
  profileId: 'a',
  role,
  findsAllOf: [],
  versions: {},
});

const portal = caller('ClientApplication', 'requestor');

/** Reads tokens that begin with `sealed`; in them is another one, which ends after 1,000 s. */
function reading({ unsealed = 'refused' as UnsealedPolicy, isGood = true } = {}) {
  const clock = { now: 0 };
  const opened: string[] = [];
  const tokens = {
    isSealed: (token: string) => token.startsWith('sealed'),
    open: async (token: string): Promise<OpenedToken | undefined> => {
      opened.push(token);
      return isGood ? { token: `inner-${token}`, expires: 1_000 } : undefined;
    },
  } as Partial<SealedTokens> as SealedTokens;
  return { ...createAccessTokens(tokens, unsealed, () => clock.now), clock, opened };
}

const inner = { authorization: 'Bearer inner-sealed', isSealed: true };
const plain = { authorization: 'Bearer plain', isSealed: false };

describe('a sealed token', () => {
  test('is opened once, and then known', async () => {
    const { recall, read, opened } = reading();
    expect(recall('Bearer   sealed')).toBeUndefined();
    expect([await read('Bearer   sealed'), recall('Bearer   sealed'), await read('Bearer   sealed')]).toEqual([
      inner,
      inner,
      inner,
    ]);
    expect(opened).toEqual(['sealed']);
    expect(recall('Bearer sealed-2')).toBeUndefined();
  });

  test('is known until it ends', async () => {
    const { recall, read, clock } = reading();
    clock.now = 999_000;
    await read('Bearer sealed');
    clock.now = 999_999;
    expect(recall('Bearer sealed')).toEqual(inner);
    clock.now = 1_000_000;
    expect(recall('Bearer sealed')).toBeUndefined();
  });
});

describe('a header of more than 8,192 characters', () => {
  test.each(['plain', 'sealed'])('has no token (%s)', async (word) => {
    const { recall, read, opened } = reading();
    const header = (length: number) => `Bearer ${word.padEnd(length - 7, 'x')}`;
    expect([recall(header(8_193)), await read(header(8_193)), opened]).toEqual([undefined, undefined, []]);
    expect(await read(header(8_192))).toBeDefined();
  });
});

test.each<[string, Caller, boolean]>([
  ['a requestor', portal, true],
  ['a program of the clinic', caller('ClientApplication', 'staff'), false],
  ['a patient', caller('Patient', 'requestor'), false],
  ['a person of the clinic', caller('Practitioner', 'staff'), false],
])('%s is a portal: %s', (_name, who, expected) => {
  expect(isPortal(who)).toBe(expected);
  const admitted = (unsealed: UnsealedPolicy) => [plain, inner].map((one) => reading({ unsealed }).admits(one, who));
  expect(admitted('refused')).toEqual([!expected, true]);
  expect(admitted('accepted')).toEqual([true, true]);
});
