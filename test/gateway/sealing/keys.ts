import { parseCredentialKeys } from '../../../gateway/sealing/credential-keys.ts';

/** A key of 32 equal bytes, as text. */
export const keyText = (byte: number): string => Buffer.alloc(32, byte).toString('base64');

/** Keys of 32 equal bytes each. */
export const keysOf = (...bytes: readonly number[]) => parseCredentialKeys(bytes.map(keyText).join(','));
