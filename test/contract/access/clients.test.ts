import { describe, expect, it } from '@jest/globals';
import { aClient, removeClient } from '../clients.ts';
import { isActionable, type RequestOptions, request } from '../http.ts';
import { base } from '../installation.ts';

describe('authentication', () => {
  const origin = new URL(base).origin;

  describe('without a token', () => {
    it.each([
      ['GET', '/Slot'],
      ['GET', '/Appointment/1'],
      ['GET', '/CodeSystem'],
      ['GET', '/openapi.json'],
      ['POST', '/Appointment/$book'],
      ['POST', '/Patient'],
      ['PUT', '/Patient/1'],
    ])('%s %s is 401', async (method, path) => {
      const response = await request('nobody', method, path, method === 'GET' ? {} : { body: {} });
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/);
      expect(isActionable(response)).toBe(true);
    });

    it.each(['/metadata', '/.well-known/smart-configuration'])('%s answers', async (path) => {
      expect((await request('nobody', 'GET', path)).status).toBe(200);
    });

    it.each(['/healthz', '/readyz', '/.well-known/openid-configuration'])('%s answers', async (path) => {
      expect((await fetch(`${origin}${path}`)).status).toBe(200);
    });
  });

  it('metrics are not for clients', async () => {
    expect((await fetch(`${origin}/metrics`)).status).toBe(404);
  });

  it('a token that is none is 401', async () => {
    const response = await request('nobody', 'GET', '/Slot', { headers: { authorization: 'Bearer made-up' } });
    expect(response.status).toBe(401);
    expect(response.text).not.toContain('made-up');
  });

  it.each<[string, string, string, RequestOptions]>([
    ['an unacceptable format', 'GET', '/Slot', { headers: { accept: 'text/csv' } }],
    ['an unknown search parameter', 'GET', '/Slot?nothing=1', {}],
    ['a body of another kind', 'POST', '/Appointment/$book', { body: 'x', headers: { 'content-type': 'text/plain' } }],
    ['half a body', 'POST', '/Appointment/$book', { body: '{"resourceType":' }],
    ['a search form that is too long', 'POST', '/Slot/_search', { body: 'x'.repeat(70_000) }],
  ])('what is wrong besides is not said to a stranger: %s', async (_, method, path, options) => {
    const headers = { ...options.headers, authorization: 'Bearer made-up' };
    expect((await request('nobody', method, path, { ...options, headers })).status).toBe(401);
  });

  it('the token of a client that was removed is 401', async () => {
    const client = await aClient('Appointment booking: requestor');
    await removeClient(client);
    const authorization = `Bearer ${client.token}`;
    const responses = [
      await request('nobody', 'GET', '/Slot', { headers: { authorization } }),
      await request('nobody', 'POST', '/Appointment/$book', { headers: { authorization }, body: {} }),
    ];
    for (const response of responses) {
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/);
      expect(isActionable(response)).toBe(true);
    }
  });
});

describe('oauth', () => {
  const { origin } = new URL(base);
  const form = (values: Record<string, string>) => ({ method: 'POST', body: new URLSearchParams(values) });

  async function ask(path: string, init: RequestInit = {}) {
    const response = await fetch(`${origin}${path}`, init);
    return { status: response.status, type: response.headers.get('content-type'), body: await response.json() };
  }

  it.each<[string, string, RequestInit]>([
    ['an unknown grant', '/oauth2/token', form({ grant_type: 'magic' })],
    [
      'an unknown client',
      '/oauth2/token',
      form({ grant_type: 'client_credentials', client_id: 'x', client_secret: 'y' }),
    ],
    ['JSON', '/oauth2/token', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }],
    ['no token to introspect', '/oauth2/introspect', form({})],
  ])('the errors of /oauth2 are those of OAuth: %s', async (_, path, init) => {
    const { status, type, body } = await ask(path, init);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(type).toMatch(/^application\/json/);
    expect(body).toEqual({ error: expect.stringMatching(/^[a-z_]+$/), error_description: expect.any(String) });
  });

  const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

  describe('private_key_jwt is not known here, and says so: 401 invalid_client, no token', () => {
    it.each<[string, Record<string, string>]>([
      ['an assertion', { client_assertion_type: ASSERTION_TYPE, client_assertion: 'a.b.c' }],
      ['its type alone', { client_assertion_type: ASSERTION_TYPE }],
      ['an assertion without a type', { client_assertion: 'a.b.c' }],
    ])('%s', async (_, assertion) => {
      const client = await aClient('Appointment booking: requestor');
      const sent = {
        grant_type: 'client_credentials',
        client_id: client.id,
        client_secret: client.secret,
        ...assertion,
      };
      const { status, body } = await ask('/oauth2/token', form(sent));
      expect(status).toBe(401);
      expect(body).toEqual({ error: 'invalid_client', error_description: expect.stringMatching(/client_secret/) });
      await removeClient(client);
    });

    it.each(['smart-configuration', 'openid-configuration', 'oauth-authorization-server'])(
      'and %s does not announce it',
      async (name) => {
        for (const prefix of ['', new URL(base).pathname]) {
          const { body } = await ask(`${prefix}/.well-known/${name}`);
          expect(body).toMatchObject({
            token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
          });
          expect(JSON.stringify(body)).not.toMatch(/private_key_jwt|client-confidential-asymmetric|jwt-bearer/);
        }
      },
    );
  });
});

const me = (headers: Record<string, string> = {}) => fetch(`${new URL(base).origin}/auth/me`, { headers });

it('auth/me tells a client who it is, and nothing else', async () => {
  const client = await aClient('Appointment booking: requestor');
  const response = await me({ authorization: `Bearer ${client.token}` });
  expect([response.status, await response.json()]).toEqual([
    200,
    {
      project: { resourceType: 'Project' },
      membership: {
        resourceType: 'ProjectMembership',
        profile: { reference: `ClientApplication/${client.id}` },
      },
      profile: { resourceType: 'ClientApplication', id: client.id },
      config: { resourceType: 'UserConfiguration' },
    },
  ]);
  await removeClient(client);
  expect((await me()).status).toBe(401);
  expect((await me({ authorization: 'Bearer made-up' })).status).toBe(401);
});
