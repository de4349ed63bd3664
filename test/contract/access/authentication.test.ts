import { describe, expect, it } from '@jest/globals';
import { aClient, removeClient } from '../clients.ts';
import { isActionable, type RequestOptions, request } from '../http.ts';
import { base } from '../installation.ts';

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
    const answer = await request('nobody', method, path, method === 'GET' ? {} : { body: {} });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
    expect(isActionable(answer)).toBe(true);
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
  const answer = await request('nobody', 'GET', '/Slot', { headers: { authorization: 'Bearer made-up' } });
  expect(answer.status).toBe(401);
  expect(answer.text).not.toContain('made-up');
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
  const answers = [
    await request('nobody', 'GET', '/Slot', { headers: { authorization } }),
    await request('nobody', 'POST', '/Appointment/$book', { headers: { authorization }, body: {} }),
  ];
  for (const answer of answers) {
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
    expect(isActionable(answer)).toBe(true);
  }
});
