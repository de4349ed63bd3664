import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

/** Length of a key, in bytes. */
export const keyBytes = 32;

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** Seals texts: without the key a sealed text cannot be read, changed or made. */
export interface Sealer {
  /**
   * Turns a text into an opaque one, in base64url: a different one each time, except with `isRepeatable`.
   *
   * @param owner - whom it belongs to: it can be opened for no other owner
   */
  readonly seal: (text: string, owner?: string) => string;
  /** The text; `undefined` if the sealed text is foreign, modified, or another owner's. */
  readonly open: (sealed: string, owner?: string) => string | undefined;
}

/**
 * Reads a key.
 *
 * @param text - 32 bytes in base64 or base64url
 * @throws Error saying how to make one
 */
export function parseKey(text: string): Buffer {
  const key = Buffer.from(text, 'base64');
  if (key.length !== keyBytes) {
    throw new Error(`The key must be ${keyBytes} bytes in base64: create one with "openssl rand -base64 ${keyBytes}".`);
  }
  return key;
}

/**
 * Prepares sealing by AES-256-GCM.
 *
 * @param purpose - what was sealed with the same key for another purpose cannot be opened
 * @param isRepeatable - whether the same text of the same owner is always sealed the same way
 * @see https://csrc.nist.gov/pubs/sp/800/38/d/final
 */
export function createSealer(key: Buffer, purpose: string, isRepeatable = false): Sealer {
  const context = (owner: string | undefined): Buffer =>
    Buffer.from(owner === undefined ? purpose : `${purpose}\n${owner}`);
  const nonceFor = (text: string, owner: string | undefined): Buffer =>
    isRepeatable
      ? createHmac('sha256', key)
          .update(JSON.stringify([purpose, owner, text]))
          .digest()
          .subarray(0, nonceBytes)
      : randomBytes(nonceBytes);
  return {
    seal: (text, owner) => {
      const nonce = nonceFor(text, owner);
      const cipher = createCipheriv(algorithm, key, nonce).setAAD(context(owner));
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
    },
    open: (sealed, owner) => {
      const bytes = Buffer.from(sealed, 'base64url');
      const [nonce, tag] = [bytes.subarray(0, nonceBytes), bytes.subarray(nonceBytes, nonceBytes + tagBytes)];
      try {
        const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(context(owner));
        decipher.setAuthTag(tag);
        return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString();
      } catch {
        return undefined;
      }
    },
  };
}
