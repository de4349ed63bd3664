import { expect, test } from '@jest/globals';
import { assessCredentials, type CredentialsState } from '../../../scripts/doctor/credentials.ts';
import type { SecretStates } from '../../../scripts/requestor/sealing.ts';

const sealed: SecretStates = { current: { key: 'new' }, hasOwnKeys: false };
const older: SecretStates = { current: { key: 'old' }, hasOwnKeys: false };
const unsealed: SecretStates = { current: 'unsealed', hasOwnKeys: false };
const switching: SecretStates = { ...sealed, retiring: 'unsealed' };
const withOwnKeys: SecretStates = { ...sealed, hasOwnKeys: true };

const state = (
  portals: Readonly<Record<string, SecretStates>>,
  keys: readonly string[] | undefined = ['new', 'old'],
): CredentialsState => ({ keys, portals: Object.entries(portals).map(([name, secrets]) => ({ name, secrets })) });

test.each<[string, CredentialsState, string, string]>([
  ['all sealed', state({ A: sealed }), 'ok', 'sealed (1)'],
  ['some with an older key', state({ A: sealed, B: older }), 'ok', 'with an older key: B'],
  ['no portals', state({}), 'ok', 'sealed (0)'],
  ['one not sealed', state({ A: sealed, B: unsealed }), 'error', 'not sealed: B'],
  ['an old secret that still works', state({ A: switching }), 'warning', 'of others: A'],
  ['one that logs in with keys of its own', state({ A: withOwnKeys }), 'warning', 'of others: A'],
  ['a key that the gateway lacks', state({ A: sealed, B: older }, ['new']), 'error', 'secrets: B'],
])('%s', (_, found, level, words) => {
  const result = assessCredentials(found);
  expect(result).toMatchObject({ level, found: expect.stringContaining(words) });
  expect(result.help !== undefined).toBe(level !== 'ok');
});
