import type { Bundle } from '@medplum/fhirtypes';
import { isId } from '../../core/fhir/reference.ts';
import { isObject, isResource, parseJson } from '../../core/fhir/resource.ts';
import type { CredentialKeys } from '../sealing/credential-keys.ts';

/** The content of a binding token: the Subscription in Medplum, Medplum's token, and the handshake for the client. */
export interface Binding {
  /** Id of the Subscription that Medplum keeps in memory for this binding. */
  readonly id: string;
  /** Medplum's token. It is an access token, too, and never leaves the service unsealed. */
  readonly token: string;
  /** When it expires, as a dateTime. */
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
 * Prepares binding tokens.
 *
 * @param keys - the first seals, all of them open
 */
export function createBindingTokens(keys: CredentialKeys, now: () => number = Date.now): BindingTokens {
  const [first] = keys;
  const sealers = keys.map(({ bindings }) => bindings);
  return {
    seal: (binding) => first.bindings.seal(JSON.stringify(binding)),
    unseal: (token) => {
      const opened = sealers.map(({ open }) => open(token)).find((text) => text !== undefined);
      const binding = opened === undefined ? undefined : bindingIn(parseJson(opened));
      return binding && Date.parse(binding.expiration) > now() ? binding : undefined;
    },
  };
}
