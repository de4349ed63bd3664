import { afterAll, describe, expect, test } from '@jest/globals';
import { gatewayTo } from '../fake-medplum.ts';
import { keysOf } from '../sealing/keys.ts';

const medplum = { url: 'http://127.0.0.1:1' };
const passing = gatewayTo(medplum);
const sealing = gatewayTo(medplum, {}, { sealing: { keys: keysOf(1), unsealed: 'refused' } });
afterAll(() => Promise.all([passing.close(), sealing.close()]));

const addresses = {
  issuer: 'https://booking.example.org/',
  token_endpoint: 'https://booking.example.org/oauth2/token',
  introspection_endpoint: 'https://booking.example.org/oauth2/introspect',
  jwks_uri: 'https://booking.example.org/.well-known/jwks.json',
};
const common = {
  ...addresses,
  grant_types_supported: ['client_credentials', 'refresh_token'],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  code_challenge_methods_supported: ['S256'],
};
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
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
  },
  'oauth-authorization-server': { ...common, response_types_supported: ['token'] },
};

describe.each(Object.entries(documents))('%s', (name, document) => {
  test.each(['', '/fhir/R4'])('is below "%s"', async (prefix) => {
    const answer = await passing.inject(`${prefix}/.well-known/${name}`);
    expect([answer.statusCode, answer.json()]).toEqual([200, document]);
  });

  test('says what is different where the service signs the tokens', async () => {
    const algorithms = 'id_token_signing_alg_values_supported' in document && {
      id_token_signing_alg_values_supported: ['ES256'],
    };
    expect((await sealing.inject(`/.well-known/${name}`)).json()).toEqual({
      ...document,
      grant_types_supported: ['client_credentials'],
      ...algorithms,
    });
  });
});
