import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Bundle } from '@medplum/fhirtypes';
import { isId } from '../../core/fhir/reference/reference.ts';
import { isObject, isResource } from '../../core/fhir/resource.ts';

/** The content of a binding token: the Subscription in Medplum, Medplum's token, and the handshake for the client. */
export interface Binding {
  /** Id of the Subscription that Medplum keeps in memory for this binding. */
  readonly id: string;
  /** Medplum's token. It is an access token, too, and never leaves the service unsealed. */
  readonly token: string;
  /** When it ends, as a dateTime. */
  readonly expiration: string;
  /** Name of the client that asked for it. */
  readonly client: string;
  readonly handshake: Bundle;
}

/** Makes and reads the tokens that clients bind their websockets with. */
export interface BindingTokens {
  /** A binding as an opaque token, which is good for binding a websocket of this service and for nothing else. */
  readonly seal: (binding: Binding) => string;
  /** The binding in a token; `undefined` if the token is foreign, modified or expired. */
  readonly unseal: (token: string) => Binding | undefined;
}

const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/** Binds a token to its purpose: data that was sealed with the same key for another purpose is rejected. */
const purpose = Buffer.from('booking-gateway websocket binding 1');

/**
 * Reads the key with which binding tokens are sealed.
 *
 * @param text - 32 bytes in base64 or base64url
 * @throws Error saying how to make one
 */
export function parseBindingKey(text: string): Buffer {
  const key = Buffer.from(text, 'base64');
  if (key.length !== keyBytes) {
    throw new Error(`The key must be ${keyBytes} bytes in base64: create one with "openssl rand -base64 ${keyBytes}".`);
  }
  return key;
}

function bindingIn(value: unknown): Binding | undefined {
  if (!isObject(value) || !isResource(value.handshake, 'Bundle')) {
    return undefined;
  }
  const { id, token, expiration, client, handshake } = value;
  const isWhole = isId(id) && [token, expiration, client].every((one) => typeof one === 'string');
  return isWhole
    ? { id, token: String(token), expiration: String(expiration), client: String(client), handshake }
    : undefined;
}

/**
 * Prepares binding tokens, sealed by AES-256-GCM.
 *
 * @param key - 32 bytes; gateways that serve the same clients need the same. Default: random, for this process alone
 * @param now - the clock, in milliseconds
 */
export function createBindingTokens(key: Buffer = randomBytes(keyBytes), now: () => number = Date.now): BindingTokens {
  return {
    seal: (binding) => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, key, nonce).setAAD(purpose);
      const sealed = Buffer.concat([cipher.update(JSON.stringify(binding), 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
    },
    unseal: (token) => {
      const bytes = Buffer.from(token, 'base64url');
      const nonce = bytes.subarray(0, nonceBytes);
      const tag = bytes.subarray(nonceBytes, nonceBytes + tagBytes);
      try {
        const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(purpose);
        decipher.setAuthTag(tag);
        const opened = Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]);
        const binding = bindingIn(JSON.parse(opened.toString()));
        return binding && Date.parse(binding.expiration) > now() ? binding : undefined;
      } catch {
        return undefined;
      }
    },
  };
}
