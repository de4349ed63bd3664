import { describe, expect, test } from '@jest/globals';
import { gatewayTo, type Reply, withGateway } from '../fake-medplum.ts';

describe('discovery', () => {
  const medplum = { url: 'http://127.0.0.1:1' };
  const gateway = gatewayTo(medplum);

  const addresses = {
    issuer: 'https://booking.example.org/',
    token_endpoint: 'https://booking.example.org/oauth2/token',
    jwks_uri: 'https://booking.example.org/.well-known/jwks.json',
  };

  const common = {
    ...addresses,
    grant_types_supported: ['client_credentials'],
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
      id_token_signing_alg_values_supported: ['ES256'],
    },
    'oauth-authorization-server': { ...common, response_types_supported: ['token'] },
  };

  describe.each(Object.entries(documents))('%s', (name, document) => {
    test.each(['', '/fhir/R4'])('is below "%s"', async (prefix) => {
      const response = await gateway.inject(`${prefix}/.well-known/${name}`);
      expect([response.statusCode, response.json()]).toEqual([200, document]);
    });
  });
});

describe('proxy', () => {
  const { fake, inject } = withGateway({ attemptsPerMinuteAndAddress: 1_000 });
  const form = { 'content-type': 'application/x-www-form-urlencoded' };

  const login = 'grant_type=client_credentials&client_id=a';

  const post = (payload = login, headers: Record<string, string> = {}) =>
    inject({ method: 'POST', url: '/oauth2/token', headers: { ...form, ...headers }, payload });

  const answering = (reply: Reply) => {
    fake.answer = () => reply;
    return post();
  };

  const json = { 'content-type': 'application/json' };

  describe('what goes on to Medplum', () => {
    const headersOf = async (headers: Record<string, string>) => {
      fake.answer = () => ({ body: {} });
      await post(undefined, headers);
      return fake.received[0]?.headers;
    };

    test('is the form, with the headers of OAuth and of tracing', async () => {
      const sent = { traceparent: '00-1-2-01', tracestate: 'a=b', 'x-request-id': 'r-1' };
      expect(await headersOf({ ...sent, cookie: 'c=d', 'x-other': 'x' })).toEqual(
        expect.objectContaining({ ...sent, ...form }),
      );
      expect(Object.keys(fake.received[0]?.headers ?? {})).not.toEqual(expect.arrayContaining(['cookie']));
      expect(fake.received[0]).toMatchObject({ method: 'POST', path: '/oauth2/token', body: login });
    });

    test('names whom it comes from, whatever that one says: one who uses up the logins of an address stops no others', async () => {
      const sent = await headersOf({ 'x-forwarded-for': '192.0.2.1' });
      expect(sent?.['x-forwarded-for']).toBe('127.0.0.1');
    });

    test('is no signed assertion', async () => {
      const refused = await post('client_assertion=x');
      expect([refused.statusCode, refused.headers['www-authenticate'], refused.headers['cache-control']]).toEqual([
        401,
        'Basic',
        'no-store',
      ]);
      expect(refused.json().error).toBe('invalid_client');
      expect(fake.received).toEqual([]);
    });
  });

  describe('what comes back from Medplum', () => {
    const outcome = (issue: object) => ({ resourceType: 'OperationOutcome', issue: [issue] });
    test.each<[number, unknown, string, string]>([
      [400, 'Plain.', 'invalid_request', 'The request was refused with status 400.'],
      [404, { error: 7 }, 'invalid_request', 'The request was refused with status 404.'],
      [429, outcome({ details: { text: 'Slow.' } }), 'temporarily_unavailable', 'Slow.'],
      [400, outcome({ diagnostics: 'D.', details: { text: 'T.' } }), 'invalid_request', 'D.'],
      [400, outcome({}), 'invalid_request', 'The request was refused.'],
      [500, 'x', 'server_error', 'The request was refused with status 500.'],
      [502, 'x', 'server_error', 'The request was refused with status 502.'],
      [503, 'x', 'temporarily_unavailable', 'The request was refused with status 503.'],
      [504, 'x', 'temporarily_unavailable', 'The request was refused with status 504.'],
    ])('as %i %j becomes an error of OAuth', async (status, body, error, description) => {
      const response = await answering({ status, body, headers: { 'retry-after': '9', 'x-medplum': 'x' } });
      expect([response.statusCode, response.json()]).toEqual([status, { error, error_description: description }]);
      expect(response.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'retry-after': '9',
      });
      expect(response.headers['x-medplum']).toBeUndefined();
    });
  });

  describe('the gateway itself refuses in the words of OAuth', () => {
    test.each<[string, string, Record<string, string>, number, string]>([
      ['an unknown address', '/oauth2/none', form, 404, 'There is no such resource, or the caller may not see it.'],
      ['JSON', '/oauth2/token', json, 415, 'The Content-Type is not supported.'],
    ])('%s', async (_, url, headers, status, description) => {
      const response = await inject({ method: 'POST', url, headers, payload: '{}' });
      expect([response.statusCode, response.json()]).toEqual([
        status,
        { error: 'invalid_request', error_description: description },
      ]);
      expect([response.headers['cache-control'], response.headers['content-type']]).toEqual([
        'no-store',
        'application/json; charset=utf-8',
      ]);
    });

    test('too many attempts, and says when to come again', async () => {
      const busy = gatewayTo(fake, { attemptsPerMinuteAndAddress: 1 });
      const send = () => busy.inject({ method: 'POST', url: '/oauth2/token', headers: form, payload: 'a=b' });
      await send();
      const response = await send();
      expect([response.statusCode, response.json()]).toEqual([
        429,
        {
          error: 'temporarily_unavailable',
          error_description: expect.stringMatching(
            /^Too many different credentials from this address\. Try again in \d+ s\.$/,
          ),
        },
      ]);
      expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
    });

    test.each([['cannot be reached', 'http://127.0.0.1:1', 503]])('a Medplum that %s', async (_, url, status) => {
      const lonely = gatewayTo({ url });
      const response = await lonely.inject({
        method: 'POST',
        url: '/oauth2/token',
        headers: form,
        payload: login,
      });
      expect([response.statusCode, response.json(), response.headers['retry-after']]).toEqual([
        status,
        {
          error: 'temporarily_unavailable',
          error_description: 'The FHIR server behind the service cannot be reached: try again.',
        },
        '5',
      ]);
    });
  });
});
