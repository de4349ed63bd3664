import { randomUUID } from 'node:crypto';
import { decodeProtectedHeader, type JWK, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { CredentialKeys } from './credential-keys.ts';

/** A token of Medplum, and what a client may know about it. */
export interface MedplumToken {
  readonly token: string;
  /** When it expires, in seconds since 1970. */
  readonly expires: number;
  /** Id of the client. */
  readonly client: string;
  /** Reference to the profile of the client in Medplum. */
  readonly profile: string;
  readonly scope: string;
}

/** A token of Medplum that was in a token of the service. */
export type OpenedToken = Pick<MedplumToken, 'token' | 'expires'>;

/** The tokens of the service: they contain Medplum's own in sealed form, and are worthless at Medplum itself. */
export interface SealedTokens {
  /** The access token that a client gets instead of Medplum's: a JWT (RFC 9068). */
  readonly seal: (token: MedplumToken) => Promise<string>;
  /** The ID token that belongs to it: it says who the client is, and gives no access. */
  readonly identify: (token: MedplumToken) => Promise<string>;
  /** Whether an access token claims to be of the service: Medplum need not be asked about it. */
  readonly isSealed: (token: string) => boolean;
  /**
   * Medplum's token; `undefined` if the sealed one is foreign, modified, expired, or of a key that is no longer in use.
   */
  readonly open: (token: string) => Promise<OpenedToken | undefined>;
  /** The public keys by which clients verify what the service has signed, the newest first. */
  readonly publicKeys: readonly JWK[];
}

/** Prefix of the ids of the signing keys. */
export const KEY_PREFIX = 'booking-';

const accessType = 'at+jwt';

/** The algorithm that all tokens of the service are signed with. */
export const SIGNING_ALGORITHM = 'ES256';

function keyIdOf(token: string): string | undefined {
  try {
    return decodeProtectedHeader(token).kid;
  } catch {
    return undefined;
  }
}

/**
 * Prepares the tokens of the service.
 *
 * @param issuer - the public address that they name as their issuer
 * @see https://www.rfc-editor.org/rfc/rfc9068
 */
export function createSealedTokens(keys: CredentialKeys, issuer: string, now: () => number): SealedTokens {
  const [newest] = keys;
  const sign = (claims: JWTPayload, typ: string, { client, expires }: MedplumToken): Promise<string> =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: SIGNING_ALGORITHM, typ, kid: `${KEY_PREFIX}${newest.id}` })
      .setIssuer(issuer)
      .setSubject(client)
      .setIssuedAt(Math.floor(now() / 1000))
      .setExpirationTime(expires)
      .sign(newest.signing);
  return {
    seal: (token) => {
      const { client, profile, scope } = token;
      const id = randomUUID();
      // From `login_id` MedplumClient knows that it may ask who it is.
      const claims = { client_id: client, login_id: id, profile, scope, jti: id, aud: issuer };
      return sign({ ...claims, sealed: newest.tokens.seal(token.token, id) }, accessType, token);
    },
    identify: (token) => sign({ aud: token.client, fhirUser: token.profile }, 'JWT', token),
    isSealed: (token) => keyIdOf(token)?.startsWith(KEY_PREFIX) ?? false,
    open: async (token) => {
      const kid = keyIdOf(token);
      const key = keys.find(({ id }) => kid === `${KEY_PREFIX}${id}`);
      const verified =
        key &&
        (await jwtVerify(token, key.verifying, {
          algorithms: [SIGNING_ALGORITHM],
          typ: accessType,
          issuer,
          audience: issuer,
          currentDate: new Date(now()),
        }).catch(() => undefined));
      const { sealed, jti, exp: expires } = verified?.payload ?? {};
      const opened = typeof sealed === 'string' ? key?.tokens.open(sealed, jti) : undefined;
      return opened === undefined || expires === undefined ? undefined : { token: opened, expires };
    },
    publicKeys: keys.map(({ id, publicKey }) => ({
      ...(publicKey as JWK),
      kid: `${KEY_PREFIX}${id}`,
      alg: SIGNING_ALGORITHM,
      use: 'sig',
    })),
  };
}
