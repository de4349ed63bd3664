import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';

const LENGTH = 32;

/** A password as it is stored: salt and hash. */
export function hashPassword(password: string): string {
  const salt = randomBytes(16);
  return `${salt.toString('base64url')}.${scryptSync(password, salt, LENGTH).toString('base64url')}`;
}

/** Whether a password matches its stored salt and hash. */
export function isPassword(password: string, stored: string): boolean {
  const [salt = '', hash = ''] = stored.split('.').map((part) => Buffer.from(part, 'base64url'));
  const given = scryptSync(password, salt, LENGTH);
  return hash.length === given.length && timingSafeEqual(given, Buffer.from(hash));
}
