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
