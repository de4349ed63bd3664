import { parseCredentialKeys } from '../../gateway/sealing/credential-keys.ts';
import { createSealedTokens } from '../../gateway/sealing/sealed-token.ts';

/** Longer than any test or measurement, in seconds. */
const LIFETIME = 86_400;

/**
 * Tokens of the demo portals at an embedded installation, known before it starts. They contain, sealed, the fixed
 * tokens of the portals at the embedded Medplum.
 *
 * @returns environment variables for tests and measurements: for each portal its token at the service, and the unsealed
 *   one, which is valid at the embedded Medplum
 */
export async function sealedTokens(baseUrl: string, key: string): Promise<Record<string, string>> {
  const { seal } = createSealedTokens(parseCredentialKeys(key), `${new URL(baseUrl).origin}/`, Date.now);
  const expires = Math.floor(Date.now() / 1000) + LIFETIME;
  const tokens = { PORTAL_A: 'portal-a', PORTAL_B: 'portal-b' };
  const sealed = Object.entries(tokens).map(async ([name, token]) => [
    [`${name}_TOKEN`, await seal({ token, expires, client: token, profile: '', scope: 'openid' })],
    [`${name}_MEDPLUM_TOKEN`, token],
  ]);
  return { CREDENTIALS_KEY: key, ...Object.fromEntries((await Promise.all(sealed)).flat()) };
}
