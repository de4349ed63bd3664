import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { createSealedTokens, type MedplumToken } from '../../../gateway/sealing/sealed-token.ts';
import { keysOf } from './keys.ts';

const issuer = 'https://booking.example.org/';
const now = Date.parse('2030-01-01T10:00:00Z');
const seconds = now / 1000;
const token: MedplumToken = {
  token: 'eyJ.medplum.token',
  expires: seconds + 3600,
  client: 'portal',
  profile: 'ClientApplication/portal',
  scope: 'openid',
};
const tokensAt = (time: number, ...bytes: readonly number[]) =>
  createSealedTokens(keysOf(...bytes), issuer, () => time);
const tokens = tokensAt(now, 1);
const sealed = await tokens.seal(token);

describe('an access token', () => {
  test("says what a client needs, and nothing of Medplum's token", () => {
    expect(decodeProtectedHeader(sealed)).toMatchObject({ alg: 'ES256', typ: 'at+jwt' });
    const { sealed: inner, ...claims } = decodeJwt(sealed);
    expect(claims).toEqual({
      iss: issuer,
      aud: issuer,
      sub: 'portal',
      client_id: 'portal',
      profile: 'ClientApplication/portal',
      scope: 'openid',
      iat: seconds,
      exp: seconds + 3600,
      jti: expect.any(String),
      login_id: claims.jti,
    });
    expect(`${Buffer.from(String(inner), 'base64url')}${sealed}`).not.toContain('medplum');
  });

  test('is opened with an old key, and no more when that is given up', async () => {
    expect(await tokensAt(now, 2, 1).open(sealed)).toMatchObject({ token: token.token });
    expect(await tokensAt(now, 2).open(sealed)).toBeUndefined();
    expect(tokensAt(now, 2).isSealed(sealed)).toBe(true);
  });
});

test('public keys have no private part', () => {
  expect(tokensAt(now, 1, 2).publicKeys).toHaveLength(2);
  for (const key of tokens.publicKeys) {
    expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
    expect(createPublicKey({ key: { ...key }, format: 'jwk' }).asymmetricKeyType).toBe('ec');
  }
});

test('what was sealed once is opened and verified by every later version', async () => {
  const kid = 'booking-Zl27A9iV';
  expect(tokens.publicKeys).toEqual([
    {
      kty: 'EC',
      crv: 'P-256',
      x: 'UEQ6GnkcsKDi7gngi5Tab03cJW9uGHQ7e0qPMZcTqw4',
      y: 'NDgdpVPhPyevGuBwOPlV9UIu3HJbB386sLfbrXIKWlY',
      kid,
      alg: 'ES256',
      use: 'sig',
    },
  ]);
  const old = {
    iss: issuer,
    aud: issuer,
    exp: seconds + 3600,
    jti: 'a85b91e1-2182-44fb-82c1-40ab21bc77ef',
    sealed: 'k9z3uCd4QFL2mBoaZQZc46vV4PtCEhQ4AvMd4yQVFdd_4mCb7_40BL7l0786',
  };
  const jwt = await new SignJWT(old)
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
    .sign(keysOf(1)[0].signing);
  expect(await tokens.open(jwt)).toEqual({ token: 'eyJ.medplum.token', expires: seconds + 3600 });
});

test('an id token says who the client is, and opens nothing', async () => {
  const identity = await tokens.identify(token);
  expect(decodeJwt(identity)).toEqual({
    iss: issuer,
    aud: 'portal',
    sub: 'portal',
    fhirUser: 'ClientApplication/portal',
    iat: seconds,
    exp: seconds + 3600,
  });
  expect(await tokens.open(identity)).toBeUndefined();
});

describe('a forged token is not opened', () => {
  const [, payload, signature] = sealed.split('.');
  const kid = decodeProtectedHeader(sealed).kid ?? '';
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const header = (alg: string) => encode({ alg, typ: 'at+jwt', kid });
  const changedClaims = encode({ ...decodeJwt(sealed), exp: seconds + 99_999 });
  const byPublicKey = (): string => {
    const text = `${header('HS256')}.${payload}`;
    const [key] = tokens.publicKeys;
    const pem = createPublicKey({ key: { ...key }, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
    return `${text}.${createHmac('sha256', pem).update(text).digest('base64url')}`;
  };
  const byOtherKey = () =>
    new SignJWT(decodeJwt(sealed))
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
      .sign(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
  const resigned = (claims: object) =>
    new SignJWT({ ...decodeJwt(sealed), ...claims })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
      .sign(keysOf(1)[0].signing);
  test.each<[string, () => string | Promise<string>]>([
    ['without a signature', () => `${header('none')}.${payload}.`],
    ['signed by the public key', byPublicKey],
    ['signed by another key', byOtherKey],
    ['with other claims', () => `${header('ES256')}.${changedClaims}.${signature}`],
    ['of another issuer', () => resigned({ iss: 'https://other.example.org/' })],
    ['for another audience', () => resigned({ aud: 'portal' })],
    ['without an end', () => resigned({ exp: undefined })],
    [
      'with what another token has sealed',
      async () => resigned({ sealed: decodeJwt(await tokens.seal(token)).sealed }),
    ],
    ['garbage', () => 'eyJ.a.b'],
    ['nothing', () => ''],
  ])('%s', async (_, forge) => {
    expect(await tokens.open(await forge())).toBeUndefined();
  });
});
