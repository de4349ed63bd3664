import { createECDH, createPrivateKey, createPublicKey, hkdfSync, type JsonWebKey, type KeyObject } from 'node:crypto';
import { createSealer, keyBytes, parseKey, type Sealer } from './sealer.ts';

/** The keys derived from one secret: one for each use. */
interface CredentialKey {
  /** Names the key without revealing it: 8 letters, digits, hyphens and underscores. */
  readonly id: string;
  /** Seals the secrets that clients log in with. */
  readonly secrets: Sealer;
  /** Seals Medplum's tokens. */
  readonly tokens: Sealer;
  /** Seals what assistants are offered and hold. */
  readonly offers: Sealer;
  /** Seals the tokens that bind websockets. */
  readonly bindings: Sealer;
  /** Signs the tokens of the service (ES256). */
  readonly signing: KeyObject;
  readonly verifying: KeyObject;
  /** The public part of the signing key. */
  readonly publicKey: JsonWebKey;
}

/** The keys of an installation: the first seals and signs, all of them open and verify. */
export type CredentialKeys = readonly [CredentialKey, ...CredentialKey[]];

/** How many keys there can be: the one in use, and those before it. */
const mostKeys = 5;

const curve = 'P-256';
const coordinateBytes = 32;

function derive(key: Buffer, use: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `booking-gateway credentials: ${use}`, keyBytes));
}

/** A private key of P-256. One in 2^32 numbers is not a valid key: then the next one is taken. */
function ellipticKey(key: Buffer, attempt = 0): JsonWebKey {
  const ecdh = createECDH('prime256v1');
  const scalar = derive(key, `signature ${attempt}`);
  try {
    ecdh.setPrivateKey(scalar);
  } catch {
    return ellipticKey(key, attempt + 1);
  }
  // Without the first byte, which says that neither coordinate is left out.
  const point = ecdh.getPublicKey().subarray(1);
  const coordinate = (start: number): string => point.subarray(start, start + coordinateBytes).toString('base64url');
  return { kty: 'EC', crv: curve, x: coordinate(0), y: coordinate(coordinateBytes), d: scalar.toString('base64url') };
}

function credentialKey(key: Buffer): CredentialKey {
  const { d, ...publicKey } = ellipticKey(key);
  return {
    id: derive(key, 'name').toString('base64url').slice(0, 8),
    secrets: createSealer(derive(key, 'secrets'), 'booking-gateway client secret 1', true),
    tokens: createSealer(derive(key, 'tokens'), 'booking-gateway access token 1'),
    offers: createSealer(derive(key, 'offers'), 'booking-gateway offer 1'),
    bindings: createSealer(derive(key, 'bindings'), 'booking-gateway websocket binding 1'),
    signing: createPrivateKey({ key: { ...publicKey, d }, format: 'jwk' }),
    verifying: createPublicKey({ key: publicKey, format: 'jwk' }),
    publicKey,
  };
}

/**
 * Reads the keys that credentials are sealed with.
 *
 * @param text - one to five keys, separated by commas, each of 32 bytes in base64 or base64url; the newest first
 * @throws Error saying how to make one
 * @see https://www.rfc-editor.org/rfc/rfc5869
 */
export function parseCredentialKeys(text: string): CredentialKeys {
  const [first = '', ...others] = text.split(',').map((key) => key.trim());
  if (others.length >= mostKeys) {
    throw new Error(`At most ${mostKeys} keys can be given.`);
  }
  return [credentialKey(parseKey(first)), ...others.map((key) => credentialKey(parseKey(key)))];
}
