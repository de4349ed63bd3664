import { hkdfSync } from 'node:crypto';
import { EncryptJWT, jwtDecrypt } from 'jose';
import * as errors from 'jose/errors';

/** The purpose of a sealed text. A text that was sealed for one purpose is invalid for all others. */
type Purpose = 'session' | 'link' | 'booking' | 'draft' | 'watch';

type SealProblem = 'expired' | 'invalid';

/** Encrypts and authenticates data that browsers keep for the portal. */
export interface Seal {
  /** @param end - expiry, in milliseconds since 1970 UTC */
  readonly close: (purpose: Purpose, content: Readonly<Record<string, unknown>>, end: number) => Promise<string>;
  readonly open: (purpose: Purpose, text: string) => Promise<Readonly<Record<string, unknown>> | SealProblem>;
}

const MAX = 4_000;

const derived = (secret: string, use: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', secret, '', `appointment portal: ${use}`, 32));

/** Derives the key of the seal from a secret of the portal. */
export function sealKey(secret: string): Uint8Array {
  return derived(secret, 'sealed links and sessions');
}

/** Derives the bearer token of notifications. It is the same after a restart and on each server. */
export function notificationSecret(secret: string): string {
  return Buffer.from(derived(secret, 'notifications')).toString('base64url');
}

/**
 * Creates the seal of a portal: JSON Web Encryption with an expiry.
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
      if (text.length > MAX) {
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
