const grantTypes = ['client_credentials'];
const clientAuthentication = ['client_secret_basic', 'client_secret_post'];

/**
 * What `/.well-known/openid-configuration` answers: the part of Medplum's answer that the sandbox plays.
 *
 * @param baseUrl - of the server, with a slash at its end
 * @see https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata
 */
export function openIdConfiguration(baseUrl: string): object {
  return {
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}oauth2/authorize`,
    token_endpoint: `${baseUrl}oauth2/token`,
    userinfo_endpoint: `${baseUrl}oauth2/userinfo`,
    jwks_uri: `${baseUrl}.well-known/jwks.json`,
    id_token_signing_alg_values_supported: ['HS256'],
    grant_types_supported: grantTypes,
    response_types_supported: ['code', 'id_token', 'token id_token'],
    subject_types_supported: ['pairwise', 'public'],
    scopes_supported: ['openid', 'profile', 'email', 'phone', 'address'],
    token_endpoint_auth_methods_supported: clientAuthentication,
    request_object_signing_alg_values_supported: ['none'],
    code_challenge_methods_supported: ['S256', 'plain'],
  };
}

/**
 * What `/.well-known/smart-configuration` answers.
 *
 * @param baseUrl - of the server, with a slash at its end
 * @see https://hl7.org/fhir/smart-app-launch/conformance.html
 */
export function smartConfiguration(baseUrl: string): object {
  return {
    issuer: baseUrl,
    jwks_uri: `${baseUrl}.well-known/jwks.json`,
    authorization_endpoint: `${baseUrl}oauth2/authorize`,
    grant_types_supported: grantTypes,
    token_endpoint: `${baseUrl}oauth2/token`,
    token_endpoint_auth_methods_supported: clientAuthentication,
    scopes_supported: ['openid'],
    response_types_supported: ['code'],
    capabilities: ['client-confidential-symmetric', 'permission-user'],
    code_challenge_methods_supported: ['S256'],
  };
}
