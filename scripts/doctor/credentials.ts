import { z } from 'zod';
import { parseJson } from '../../core/fhir/json.ts';
import { KEY_PREFIX } from '../../gateway/sealing/sealed-token.ts';
import { requesterFor } from '../medplum/http.ts';
import { members } from '../requestor/members.ts';
import { isSealed, type SecretStates, secretStates } from '../requestor/sealing.ts';
import { type Check, check, error, type Installation, ok, type Verdict, warning } from './check.ts';
import { readReadiness } from './gateway.ts';

/** Who logs in with what. */
export interface CredentialsState {
  /** Which credentials the gateway accepts from portals, as it says; undefined if it was not asked. */
  readonly taken: string | undefined;
  /** The ids of the gateway's keys, the newest first; undefined if it was not asked. */
  readonly keys: readonly string[] | undefined;
  readonly portals: readonly { readonly name: string; readonly secrets: SecretStates }[];
}

const SECTION = 'See docs/operators.md, Sealed credentials.';

type Portal = CredentialsState['portals'][number];

const names = (portals: readonly Portal[]): string => portals.map(({ name }) => name).join(', ');

/** Those whose secret no gateway can open, because its key is missing. */
function lockedOut({ keys, portals }: CredentialsState): readonly Portal[] {
  return portals.filter(({ secrets: { current } }) => current !== 'unsealed' && keys && !keys.includes(current.key));
}

/** The reasons for which something is to be done, the gravest first. */
const findings: readonly ((state: CredentialsState) => Verdict | undefined)[] = [
  (state) => {
    const portals = state.taken === 'medplum' ? [] : lockedOut(state);
    return portals.length > 0
      ? error(
          `cannot log in, as no key of the gateway opens their secrets: ${names(portals)}`,
          'Add the key that they were sealed with to CREDENTIALS_KEY, or: npm run requestor -- rotate NAME',
        )
      : undefined;
  },
  ({ taken, portals }) => {
    const unsealed = portals.filter(({ secrets: { current } }) => current === 'unsealed');
    return taken === 'sealed' && unsealed.length > 0
      ? error(
          `cannot log in, as their secrets are not sealed: ${names(unsealed)}`,
          'npm run requestor -- rotate NAME; until they have the new ones, set PORTAL_CREDENTIALS=both.',
        )
      : undefined;
  },
  ({ taken }) =>
    taken === 'medplum'
      ? warning(
          'portals have credentials that also work at Medplum itself, where they can find out data of others',
          `Set CREDENTIALS_KEY, and hand out sealed secrets. ${SECTION}`,
        )
      : undefined,
  ({ portals }) => {
    const unsealed = portals.filter(({ secrets }) => !isSealed(secrets));
    return unsealed.length > 0
      ? warning(
          `hold credentials that also work at Medplum itself: ${names(unsealed)}`,
          'npm run requestor -- rotate NAME, and rotate NAME --finish once it uses the new secret; npm run requestor -- list says more.',
        )
      : undefined;
  },
  ({ taken }) =>
    taken === 'both'
      ? warning('all are sealed, but the gateway accepts others, too', 'Set PORTAL_CREDENTIALS=sealed.')
      : undefined,
];

/** Portals hold nothing that Medplum itself would accept. */
export function assessCredentials(state: CredentialsState): Verdict {
  const found = findings.map((finding) => finding(state)).find((verdict) => verdict !== undefined);
  if (found) {
    return found;
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
  const answer = gatewayUrl
    ? await requesterFor(gatewayUrl)('.well-known/jwks.json').catch(() => undefined)
    : undefined;
  const { keys } = keysSchema.safeParse(parseJson(answer?.text ?? '')).data ?? {};
  return keys?.flatMap(({ kid }) => (kid.startsWith(KEY_PREFIX) ? [kid.slice(KEY_PREFIX.length)] : []));
}

/** Reads what the portals of the installation log in with. */
async function readCredentials(installation: Installation): Promise<CredentialsState> {
  const { medplum, me } = installation;
  const [readiness, keys, all] = await Promise.all([
    readReadiness(installation),
    readKeys(installation),
    members({ medplum, projectId: me.project.id }),
  ]);
  const portals = all
    .filter(({ isDeleted }) => !isDeleted)
    .map(({ client }) => ({ name: client.name ?? client.id, secrets: secretStates(client) }));
  return { taken: readiness?.credentials, keys, portals };
}

/** What the portals of the installation log in with. */
export const credentialsChecks: readonly Check[] = [
  check('credentials of portals', readCredentials, assessCredentials),
];
