import { describe, expect, test } from '@jest/globals';
import type { Caller } from '../../../gateway/medplum/current-profile.ts';
import {
  createAccessTokens,
  isPortal,
  medplumTokens,
  type UnsealedPolicy,
} from '../../../gateway/sealing/access-tokens.ts';
import type { OpenedToken, SealedTokens } from '../../../gateway/sealing/sealed-token.ts';

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

  test('is opened again after ten minutes', async () => {
    const { recall, read, opened, clock } = reading();
    await read('Bearer sealed');
    clock.now = 599_999;
    expect(recall('Bearer sealed')).toEqual(inner);
    clock.now = 600_000;
    expect(recall('Bearer sealed')).toBeUndefined();
    await read('Bearer sealed');
    expect(opened).toHaveLength(2);
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

  test('that cannot be opened is none', async () => {
    const { recall, read, opened } = reading({ isGood: false });
    expect([await read('Bearer sealed'), recall('Bearer sealed'), await read('Bearer sealed')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(opened).toHaveLength(2);
  });
});

describe('a token of Medplum', () => {
  test('is what it is', async () => {
    const { recall, read, opened } = reading();
    expect([recall('Bearer plain'), await read('Bearer plain'), opened]).toEqual([plain, plain, []]);
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
  ['a program of the clinic', caller('ClientApplication', 'repository'), false],
  ['a patient', caller('Patient', 'requestor'), false],
  ['a person of the clinic', caller('Practitioner', 'repository'), false],
])('%s is a portal: %s', (_name, who, expected) => {
  expect(isPortal(who)).toBe(expected);
  const admitted = (unsealed: UnsealedPolicy) => [plain, inner].map((one) => reading({ unsealed }).admits(one, who));
  expect(admitted('refused')).toEqual([!expected, true]);
  expect(admitted('accepted')).toEqual([true, true]);
});

test('where nothing is sealed all tokens are those of Medplum, and everybody may send them', async () => {
  expect([medplumTokens.recall('Bearer plain'), await medplumTokens.read('Bearer plain')]).toEqual([plain, plain]);
  expect(medplumTokens.admits(plain, portal)).toBe(true);
});
