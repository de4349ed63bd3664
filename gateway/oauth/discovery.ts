import type { FastifyInstance } from 'fastify';
import { open } from '../admission/route-rules.ts';
import type { GatewayContext } from '../context.ts';
import type { Addresses } from '../medplum/address-rewriting.ts';
import { SIGNING_ALGORITHM } from '../sealing/sealed-token.ts';

/**
 * The OAuth 2 addresses of the service; what Medplum answers is sealed (`proxy.ts`). Medplum refuses `userinfo` to
 * clients that may not read their own ClientApplication, and portals may not: it is left out.
 */
export function oauthEndpoints({ origin }: Pick<Addresses, 'origin'>) {
  return {
    issuer: `${origin}/`,
    token_endpoint: `${origin}/oauth2/token`,
    jwks_uri: `${origin}/.well-known/jwks.json`,
  };
}

const common = {
  grant_types_supported: ['client_credentials'],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  code_challenge_methods_supported: ['S256'],
} as const;

/**
 * The documents from which a client learns how to get a token. They name what the service itself passes through: a
 * requestor is a confidential client with a secret; user logins are left to Medplum.
 */
const documents = {
  'smart-configuration': {
    ...common,
    scopes_supported: ['system/*.cruds', 'openid'],
    capabilities: ['client-confidential-symmetric', 'permission-v1', 'permission-v2'],
  },
  'openid-configuration': {
    ...common,
    response_types_supported: ['token', 'id_token'],
    scopes_supported: ['openid'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [SIGNING_ALGORITHM],
  },
  'oauth-authorization-server': { ...common, response_types_supported: ['token'] },
} as const;

/**
 * Adds OAuth 2 and SMART discovery, at the root and below the FHIR base address.
 *
 * @see https://hl7.org/fhir/smart-app-launch/conformance.html, https://www.rfc-editor.org/rfc/rfc8414
 */
export function addDiscovery(app: FastifyInstance, { addresses }: GatewayContext): void {
  for (const [name, document] of Object.entries(documents)) {
    const whole = { ...oauthEndpoints(addresses), ...document };
    for (const prefix of ['', addresses.basePath]) {
      app.get(`${prefix}/.well-known/${name}`, { config: { rule: open } }, async () => whole);
    }
  }
}
