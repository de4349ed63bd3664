import { createHash } from 'node:crypto';
import type { WithId } from '@medplum/core';
import type { ClientApplication } from '@medplum/fhirtypes';
import type { CredentialKeys } from '../../gateway/sealing/credential-keys.ts';
import { sealSecret } from '../../gateway/sealing/sealed-secret.ts';
import type { Connection } from '../medplum/connect.ts';
import type { ClientCredentials } from '../medplum/membership.ts';

/**
 * System of the tags of a ClientApplication that record sealed secrets, each with its key. Only administrators can read
 * them.
 */
const SYSTEM = 'urn:appointment-booking:sealed-secret';

/** State of an issued secret: sealed with a key, or Medplum's own. */
export type SecretState = { readonly key: string } | 'unsealed';

/** The states of a client's secrets. */
export interface SecretStates {
  readonly current: SecretState;
  /** State of the previous secret, while it is valid. */
  readonly retiring?: SecretState;
  /** Whether it can also log in with its own key pair, which Medplum itself accepts. */
  readonly hasOwnKeys: boolean;
}

/** Identifies a secret without revealing it: secrets of Medplum are random numbers of 256 bits. */
const nameOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url').slice(0, 22);

const tagsOf = ({ meta }: ClientApplication) => (meta?.tag ?? []).filter(({ system }) => system === SYSTEM);

function stateOf(client: ClientApplication, secret: string): SecretState {
  const name = nameOf(secret);
  const codes = tagsOf(client).map(({ code = '' }) => code.split(':'));
  const [key] = codes.find(([, named]) => named === name) ?? [];
  return key === undefined ? 'unsealed' : { key };
}

/** The states of a client's secrets, from its ClientApplication. */
export function secretStates(client: ClientApplication): SecretStates {
  const { secret, retiringSecret, jwksUri } = client;
  return {
    current: secret ? stateOf(client, secret) : 'unsealed',
    ...(retiringSecret && { retiring: stateOf(client, retiringSecret) }),
    hasOwnKeys: Boolean(jwksUri),
  };
}

/** Whether Medplum itself accepts none of the client's credentials. */
export function isSealed({ current, retiring, hasOwnKeys }: SecretStates): boolean {
  return current !== 'unsealed' && retiring !== 'unsealed' && !hasOwnKeys;
}

/**
 * Seals the secret of a client. The ClientApplication records this before the secret is issued. If it cannot be
 * recorded, the secret counts as not sealed, and is not issued.
 *
 * @param credentials - with Medplum's own secret
 */
export async function sealCredentials(
  { medplum }: Pick<Connection, 'medplum'>,
  { id, secret }: ClientCredentials,
  keys: CredentialKeys,
): Promise<ClientCredentials> {
  const client: WithId<ClientApplication> = await medplum.readResource('ClientApplication', id, { cache: 'reload' });
  const [{ id: key }] = keys;
  const code = `${key}:${nameOf(secret)}`;
  const valid = [client.secret, client.retiringSecret].flatMap((one) => (one ? [nameOf(one)] : []));
  const kept = tagsOf(client).filter((tag) => valid.includes(tag.code?.split(':')[1] ?? '') && tag.code !== code);
  const others = (client.meta?.tag ?? []).filter(({ system }) => system !== SYSTEM);
  const tag = [...others, ...kept, { system: SYSTEM, code }];
  if (!tagsOf(client).some((coding) => coding.code === code)) {
    await medplum.updateResource<ClientApplication>({ ...client, meta: { ...client.meta, tag } });
  }
  return { id, secret: sealSecret(keys, id, secret) };
}
