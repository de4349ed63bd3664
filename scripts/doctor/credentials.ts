import { z } from 'zod';
import { parseJson } from '../../core/fhir/resource.ts';
import { KEY_PREFIX } from '../../gateway/sealing/sealed-token.ts';
import { requesterFor } from '../medplum/http.ts';
import { members } from '../requestor/members.ts';
import { isSealed, type SecretStates, secretStates } from '../requestor/sealing.ts';
import { type Check, check, type DoctorResult, error, type Installation, ok, warning } from './check.ts';

/** The keys of the gateway and the secrets of the portals. */
export interface CredentialsState {
  /** Ids of the gateway's keys, the newest first; `undefined` if it was not called. */
  readonly keys: readonly string[] | undefined;
  readonly portals: readonly { readonly name: string; readonly secrets: SecretStates }[];
}

type Portal = CredentialsState['portals'][number];

const names = (portals: readonly Portal[]): string => portals.map(({ name }) => name).join(', ');

/** Portals whose secret no gateway can open, because its key is missing. */
function lockedOut({ keys, portals }: CredentialsState): readonly Portal[] {
  return portals.filter(({ secrets: { current } }) => current !== 'unsealed' && keys && !keys.includes(current.key));
}

/** The secrets of portals must be sealed, so that Medplum itself rejects them, and the gateway must have their keys. */
export function assessCredentials(state: CredentialsState): DoctorResult {
  const locked = lockedOut(state);
  if (locked.length > 0) {
    return error(
      `cannot log in, as no key of the gateway opens their secrets: ${names(locked)}`,
      'Add the key that they were sealed with to CREDENTIALS_KEY, or: npm run requestor -- rotate NAME',
    );
  }
  const unsealed = state.portals.filter(({ secrets: { current } }) => current === 'unsealed');
  if (unsealed.length > 0) {
    return error(
      `cannot log in, as their secrets are not sealed: ${names(unsealed)}`,
      'npm run requestor -- rotate NAME',
    );
  }
  const atMedplum = state.portals.filter(({ secrets }) => !isSealed(secrets));
  if (atMedplum.length > 0) {
    return warning(
      `hold credentials that also work at Medplum itself, where they can find out data of others: ${names(atMedplum)}`,
      'npm run requestor -- rotate NAME --finish, and no keys of their own; npm run requestor -- list says more.',
    );
  }
  const [newest] = state.keys ?? [];
  const older = state.portals.filter(
    ({ secrets: { current } }) => newest !== undefined && current !== 'unsealed' && current.key !== newest,
  );
  const note = older.length > 0 ? `; with an older key: ${names(older)}` : '';
  return ok(`sealed (${state.portals.length})${note}`);
}

const keysSchema = z.object({ keys: z.array(z.object({ kid: z.string() })) });

async function readKeys({ gatewayUrl }: Installation): Promise<readonly string[] | undefined> {
  const response = gatewayUrl
    ? await requesterFor(gatewayUrl)('.well-known/jwks.json').catch(() => undefined)
    : undefined;
  const { keys } = keysSchema.safeParse(parseJson(response?.text ?? '')).data ?? {};
  return keys?.flatMap(({ kid }) => (kid.startsWith(KEY_PREFIX) ? [kid.slice(KEY_PREFIX.length)] : []));
}

async function readCredentials(installation: Installation): Promise<CredentialsState> {
  const { medplum, me } = installation;
  const [keys, all] = await Promise.all([readKeys(installation), members({ medplum, projectId: me.project.id })]);
  const portals = all
    .filter(({ isDeleted }) => !isDeleted)
    .map(({ client }) => ({ name: client.name ?? client.id, secrets: secretStates(client) }));
  return { keys, portals };
}

export const credentialsChecks: readonly Check[] = [
  check('credentials of portals', readCredentials, assessCredentials),
];
