import { expect, test } from '@jest/globals';
import { assessCredentials, type CredentialsState } from '../../../scripts/doctor/credentials.ts';
import type { SecretStates } from '../../../scripts/requestor/sealing.ts';

const sealed: SecretStates = { current: { key: 'new' }, hasOwnKeys: false };
const older: SecretStates = { current: { key: 'old' }, hasOwnKeys: false };
const unsealed: SecretStates = { current: 'unsealed', hasOwnKeys: false };
const switching: SecretStates = { ...sealed, retiring: 'unsealed' };
const withOwnKeys: SecretStates = { ...sealed, hasOwnKeys: true };

const state = (
  taken: string | undefined,
  portals: Readonly<Record<string, SecretStates>>,
  keys: readonly string[] | undefined = ['new', 'old'],
): CredentialsState => ({
  taken,
  keys,
  portals: Object.entries(portals).map(([name, secrets]) => ({ name, secrets })),
});

test.each<[string, CredentialsState, string, string]>([
  ['all sealed', state('sealed', { A: sealed }), 'ok', 'sealed (1)'],
  ['some with an older key', state('sealed', { A: sealed, B: older }), 'ok', 'with an older key: B'],
  ['no portals', state('sealed', {}), 'ok', 'sealed (0)'],
  ['one not sealed, and refused', state('sealed', { A: sealed, B: unsealed }), 'error', 'not sealed: B'],
  ['one not sealed, while they change over', state('both', { A: sealed, B: unsealed }), 'warning', 'itself: B'],
  ['one not sealed, at a gateway not asked', state(undefined, { B: unsealed }, undefined), 'warning', 'itself: B'],
  ['an old secret that still works', state('sealed', { A: switching }), 'warning', 'itself: A'],
  ['one that logs in with keys of its own', state('sealed', { A: withOwnKeys }), 'warning', 'itself: A'],
  ['all sealed, but others taken', state('both', { A: sealed }), 'warning', 'accepts others'],
  ['a key that the gateway lacks', state('sealed', { A: sealed, B: older }, ['new']), 'error', 'secrets: B'],
  ["Medplum's own credentials", state('medplum', { A: unsealed }, []), 'warning', 'also work at Medplum'],
])('%s', (_, found, level, words) => {
  const verdict = assessCredentials(found);
  expect(verdict).toMatchObject({ level, found: expect.stringContaining(words) });
  expect(verdict.help !== undefined).toBe(level !== 'ok');
});
