import { describe, expect, test } from '@jest/globals';
import { createSealer } from '../../../gateway/sealing/sealer.ts';
import { type Binding, createBindingTokens } from '../../../gateway/websocket/binding-token.ts';

const key = Buffer.alloc(32, 1);
const now = Date.parse('2027-01-01T00:00:00Z');
const { seal, unseal } = createBindingTokens(key, () => now);
const binding: Binding = {
  id: 'm1',
  token: 'token-of-medplum',
  expiration: '2027-01-01T01:00:00Z',
  client: 'ClientApplication/portal-a-id',
  handshake: { resourceType: 'Bundle', type: 'history' },
};
/** What gateways of all versions seal with: they take the tokens of each other while one replaces the other. */
const sealer = createSealer(key, 'booking-gateway websocket binding 1');

describe('a binding token', () => {
  test('holds its binding, and nobody can read it', () => {
    expect(unseal(seal(binding))).toEqual(binding);
    expect(`${seal(binding)}${Buffer.from(seal(binding), 'base64url')}`).not.toContain('medplum');
  });

  test('is understood by gateways of other versions', () => {
    expect(unseal(sealer.seal(JSON.stringify(binding)))).toEqual(binding);
    expect(JSON.parse(sealer.open(seal(binding)) ?? '')).toEqual(binding);
  });

  test.each([
    [1, true],
    [0, false],
    [-1, false],
  ])('whose binding ends in %i ms is good: %s', (ms, isGood) => {
    const token = seal({ ...binding, expiration: new Date(now + ms).toISOString() });
    expect(unseal(token) !== undefined).toBe(isGood);
  });

  test('is good in the process that made it, where none is given a key', () => {
    const [one, other] = [createBindingTokens(), createBindingTokens()];
    const token = one.seal({ ...binding, expiration: new Date(Date.now() + 3_600_000).toISOString() });
    expect([one.unseal(token)?.id, other.unseal(token)]).toEqual(['m1', undefined]);
  });

  test('that was sealed for another purpose is none', () => {
    expect(unseal(createSealer(key, '').seal(JSON.stringify(binding)))).toBeUndefined();
  });

  test.each<[string, object]>([
    ['no id', { id: undefined }],
    ['an id that is none', { id: 'a/b' }],
    ['no token', { token: undefined }],
    ['no end', { expiration: undefined }],
    ['no client', { client: undefined }],
    ['a client that is no text', { client: { id: 'x' } }],
    ['no handshake', { handshake: undefined }],
    ['a handshake that is no Bundle', { handshake: { resourceType: 'Slot' } }],
  ])('with %s is none', (_, change) => {
    expect(unseal(sealer.seal(JSON.stringify({ ...binding, ...change })))).toBeUndefined();
  });

  test.each(['', '{', 'null', '5', '[]', '"text"'])('with the content %j is none', (content) => {
    expect(unseal(sealer.seal(content))).toBeUndefined();
  });
});
