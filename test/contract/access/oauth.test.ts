import { describe, expect, it } from '@jest/globals';
import { aClient, removeClient } from '../clients.ts';
import { base } from '../installation.ts';

const { origin } = new URL(base);
const form = (values: Record<string, string>) => ({ method: 'POST', body: new URLSearchParams(values) });

async function ask(path: string, init: RequestInit = {}) {
  const answer = await fetch(`${origin}${path}`, init);
  return { status: answer.status, type: answer.headers.get('content-type'), body: await answer.json() };
}

describe('the errors of /oauth2 are those of OAuth', () => {
  it.each<[string, string, RequestInit]>([
    ['an unknown grant', '/oauth2/token', form({ grant_type: 'magic' })],
    [
      'an unknown client',
      '/oauth2/token',
      form({ grant_type: 'client_credentials', client_id: 'x', client_secret: 'y' }),
    ],
    ['JSON', '/oauth2/token', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }],
    ['no token to introspect', '/oauth2/introspect', form({})],
  ])('%s', async (_, path, init) => {
    const { status, type, body } = await ask(path, init);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(type).toMatch(/^application\/json/);
    expect(body).toEqual({ error: expect.stringMatching(/^[a-z_]+$/), error_description: expect.any(String) });
  });
});

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

describe('private_key_jwt is not known here, and says so: 401 invalid_client, no token', () => {
  it.each<[string, Record<string, string>]>([
    ['an assertion', { client_assertion_type: ASSERTION_TYPE, client_assertion: 'a.b.c' }],
    ['its type alone', { client_assertion_type: ASSERTION_TYPE }],
    ['an assertion without a type', { client_assertion: 'a.b.c' }],
  ])('%s', async (_, assertion) => {
    const client = await aClient('Appointment booking: requestor');
    const sent = { grant_type: 'client_credentials', client_id: client.id, client_secret: client.secret, ...assertion };
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

it('tells whether a token is good', async () => {
  const client = await aClient('Appointment booking: requestor');
  expect(await ask('/oauth2/introspect', form({ token: client.token }))).toMatchObject({
    status: 200,
    body: { active: true, client_id: client.id, exp: expect.any(Number) },
  });
  expect(await ask('/oauth2/introspect', form({ token: 'made-up' }))).toMatchObject({ body: { active: false } });
  await removeClient(client);
});

it('announces what there is, and nothing else', async () => {
  const { body } = await ask('/.well-known/openid-configuration');
  expect(body).toMatchObject({ introspection_endpoint: `${origin}/oauth2/introspect` });
  expect(Object.keys(body as object)).not.toContain('userinfo_endpoint');
  expect((await fetch(`${origin}/oauth2/userinfo`)).status).toBe(404);
});
