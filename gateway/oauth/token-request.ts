import type { OAuthRefusal } from './errors.ts';

/** A request for an access token. */
export interface TokenRequest {
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly scope: string | undefined;
}

const refusal = (description: string, error: OAuthRefusal['error'] = 'invalid_request'): OAuthRefusal => ({
  status: 400,
  error,
  description,
});

const GRANT = 'client_credentials';

const assertions = ['client_assertion', 'client_assertion_type'] as const;

/**
 * The refusal of a token request that authenticates the client by a signed assertion (`private_key_jwt`). Medplum accepts
 * an assertion only if its audience is Medplum's own address, where a portal could then use it as well.
 *
 * @returns `undefined` if it has no assertion
 * @see https://www.rfc-editor.org/rfc/rfc7523#section-2.2, https://www.rfc-editor.org/rfc/rfc6749#section-5.2
 */
function assertionRefusal(form: string): OAuthRefusal | undefined {
  const sent = new URLSearchParams(form);
  const found = assertions.find((name) => sent.has(name));
  const description =
    `This service does not support ${found} (private_key_jwt): send client_id and client_secret, in the form or by HTTP ` +
    'Basic.';
  return found && { status: 401, error: 'invalid_client', description };
}

/** Reads HTTP Basic; only the first colon is a separator. */
function basicCredentials(authorization: string): { readonly id: string; readonly secret: string } | undefined {
  const [, encoded] = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization) ?? [];
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded ?? '', 'base64').toString()) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** The parameters of a form; `undefined` if one occurs twice. */
function parametersOf(form: string): Readonly<Record<string, string>> | undefined {
  const parameters = [...new URLSearchParams(form)];
  const values = new Map(parameters);
  return values.size === parameters.length ? Object.fromEntries(values) : undefined;
}

/**
 * Reads a request for a token by client credentials, with the secret in HTTP Basic or in the form.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.4.2
 */
export function readTokenRequest(form: string, authorization: string | undefined): TokenRequest | OAuthRefusal {
  const parameters = parametersOf(form);
  const refusedAssertion = assertionRefusal(form);
  if (!parameters || refusedAssertion) {
    return refusedAssertion ?? refusal('Send each parameter once.');
  }
  const { grant_type: grant, client_id: formId, client_secret: formSecret } = parameters;
  if (!grant) {
    return refusal(`Missing grant_type: send ${GRANT}.`);
  }
  if (grant !== GRANT) {
    return refusal(`This service supports only the grant_type ${GRANT}.`, 'unsupported_grant_type');
  }
  const basic = authorization === undefined ? undefined : basicCredentials(authorization);
  if (authorization !== undefined && !basic) {
    return refusal('The Authorization header must be Basic with the id and the secret of the client.');
  }
  return {
    clientId: basic?.id ?? formId ?? '',
    clientSecret: basic?.secret ?? formSecret,
    scope: parameters.scope,
  };
}
