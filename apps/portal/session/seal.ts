import { hkdfSync } from 'node:crypto';
import { EncryptJWT, jwtDecrypt } from 'jose';
import * as errors from 'jose/errors';

/** What a sealed text is for: one for a link is not a session, and vice versa. */
type Purpose = 'session' | 'link' | 'booking' | 'draft' | 'watch';

/** Why a sealed text cannot be read. */
type SealProblem = 'expired' | 'invalid';

/** Seals what the portal gives to browsers, so that nobody can read, change or make it. */
export interface Seal {
  /** @param end - when it stops being valid, in milliseconds since 1970 UTC */
  readonly close: (purpose: Purpose, content: Readonly<Record<string, unknown>>, end: number) => Promise<string>;
  readonly open: (purpose: Purpose, text: string) => Promise<Readonly<Record<string, unknown>> | SealProblem>;
}

/** No sealed text of the portal is longer. */
const MOST = 4_000;

const derived = (secret: string, use: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', secret, '', `appointment portal: ${use}`, 32));

/** The key of the seal: from a key of the portal's own, or from the secret that its client has anyway. */
export function sealKey(secret: string): Uint8Array {
  return derived(secret, 'sealed links and sessions');
}

/** What notifications to the portal carry, made like the key of the seal: the same after a restart, and on each server. */
export function notificationSecret(secret: string): string {
  return Buffer.from(derived(secret, 'notifications')).toString('base64url');
}

/**
 * The seal of a portal: JSON Web Encryption with a key that only the portal has, and an end.
 *
 * @param key - 32 bytes
 * @see https://www.rfc-editor.org/rfc/rfc7516
 */
export function createSeal(key: Uint8Array, now: () => number): Seal {
  return {
    close: (purpose, content, end) =>
      new EncryptJWT({ ...content })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setAudience(purpose)
        .setExpirationTime(Math.floor(end / 1000))
        .encrypt(key),
    async open(purpose, text) {
      if (text.length > MOST) {
        return 'invalid';
      }
      try {
        const { payload } = await jwtDecrypt(text, key, {
          audience: purpose,
          currentDate: new Date(now()),
          requiredClaims: ['exp'],
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM'],
        });
        return payload;
      } catch (error) {
        return error instanceof errors.JWTExpired ? 'expired' : 'invalid';
      }
    },
  };
}
