import type { CredentialKeys } from './credential-keys.ts';

const prefix = 'sealed';

/** The longest sealed secret, in characters. */
const mostCharacters = 1_024;

/** Whether a secret claims to be sealed. */
export const isSealedSecret = (secret: string): boolean => secret.startsWith(`${prefix}.`);

/**
 * The secret with which a client logs in at the service. It contains Medplum's without revealing it, and Medplum would
 * not accept it. The same secret is always sealed the same way.
 *
 * @param clientId - id of its ClientApplication: it works for no other
 * @returns `sealed.{id of the key}.{base64url}`, which needs no encoding in a form or in HTTP Basic
 */
export function sealSecret([{ id, secrets }]: CredentialKeys, clientId: string, secret: string): string {
  return `${prefix}.${id}.${secrets.seal(secret, clientId)}`;
}

/** Medplum's secret in a sealed one; `undefined` if that is foreign, modified, or another client's. */
export function openSecret(keys: CredentialKeys, clientId: string, sealed: string): string | undefined {
  const [, id, content] = sealed.length <= mostCharacters ? sealed.split('.') : [];
  const key = keys.find((credentialKey) => credentialKey.id === id);
  return content === undefined ? undefined : key?.secrets.open(content, clientId);
}
