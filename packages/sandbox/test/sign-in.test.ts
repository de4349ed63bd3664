import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { AccessPolicy, ClientApplication, ProjectMembership } from '@medplum/fhirtypes';
import { withSandbox } from './start.ts';

const client = withSandbox();
const redirect = 'http://desk.example/front-desk/signed-in';
const verifier = 'a-code-verifier-that-is-long-enough-for-rfc-7636';
const challenge = createHash('sha256').update(verifier).digest('base64url');
const person = { email: 'desk@example.org', password: 'very-secret' };
const form = { 'content-type': 'application/x-www-form-urlencoded', authorization: '' };

interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly error?: string;
  readonly error_description?: string;
}

let page = '';

beforeAll(async () => {
  const made = await client().create<ClientApplication>({
    resourceType: 'ClientApplication',
    name: 'Page',
    redirectUris: [redirect],
  });
  page = made.id;
  const policy = await client().create<AccessPolicy>({
    resourceType: 'AccessPolicy',
    resource: [{ resourceType: 'Patient', interaction: ['read', 'search'] }],
  });
  const body = { resourceType: 'Practitioner', firstName: 'Maria', lastName: 'Keller', ...person };
  const invited = await client().send<ProjectMembership>('POST', 'admin/projects/x/invite', {
    ...body,
    membership: { accessPolicy: { reference: `AccessPolicy/${policy.id}` } },
  });
  expect([invited.status, invited.body.profile?.display]).toEqual([200, 'Maria Keller']);
  const again = await client().send('POST', 'admin/projects/x/invite', body);
  expect(again.status).toBe(409);
});

function authorize(changes: Record<string, string> = {}): Promise<Response> {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: page,
    redirect_uri: redirect,
    scope: 'openid offline_access',
    state: 'where',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...changes,
  });
  return fetch(`${client().sandbox.baseUrl}oauth2/authorize?${query}`, { redirect: 'manual' });
}

async function signIn(changes: Record<string, string> = {}): Promise<URL> {
  const { headers } = await authorize(changes);
  const target = new URL(headers.get('location') ?? '', client().sandbox.baseUrl);
  const response = await fetch(new URL('/oauth', target), {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ ...Object.fromEntries(target.searchParams), ...person }),
  });
  return new URL(response.headers.get('location') ?? '');
}

const token = (fields: Record<string, string>) =>
  client().send<Tokens>('POST', 'oauth2/token', new URLSearchParams(fields).toString(), form);

const exchange = async (changes: Record<string, string> = {}, code?: string) =>
  token({
    grant_type: 'authorization_code',
    client_id: page,
    code: code ?? (await signIn()).searchParams.get('code') ?? '',
    code_verifier: verifier,
    ...changes,
  });

const patients = (access: string) =>
  client()
    .fhir('GET', 'Patient', undefined, { authorization: `Bearer ${access}` })
    .then(({ status }) => status);

describe('a person', () => {
  test('signs in by code and verifier, as the Practitioner with its rights', async () => {
    const back = await signIn();
    expect([back.origin + back.pathname, back.searchParams.get('state')]).toEqual([redirect, 'where']);
    const { body } = await exchange({}, back.searchParams.get('code') ?? '');
    const headers = { authorization: `Bearer ${body.access_token}` };
    expect(await patients(body.access_token)).toBe(200);
    expect((await client().fhir('GET', 'Slot', undefined, headers)).status).toBe(403);
    const me = await client().send<{ profile: { resourceType: string } }>('GET', 'auth/me', undefined, headers);
    expect(me.body.profile.resourceType).toBe('Practitioner');
  });

  test('gets new tokens by the refresh token, each of which works once and is no access token', async () => {
    const { refresh_token: first = '' } = (await exchange()).body;
    expect(await patients(first)).toBe(401);
    const again = await token({ grant_type: 'refresh_token', refresh_token: first });
    expect(await patients(again.body.access_token)).toBe(200);
    const twice = await token({ grant_type: 'refresh_token', refresh_token: first });
    expect([twice.status, twice.body.error_description]).toEqual([400, 'Invalid token']);
  });

  test('signs out: neither token works any more', async () => {
    const { access_token: access, refresh_token: refresh = '' } = (await exchange()).body;
    await client().send('POST', 'oauth2/logout', {}, { authorization: `Bearer ${access}` });
    expect(await patients(access)).toBe(401);
    expect((await token({ grant_type: 'refresh_token', refresh_token: refresh })).body.error).toBe('invalid_grant');
  });
});

describe('refused', () => {
  test.each([
    [{ code: 'x' }, 'Invalid code'],
    [{ code_verifier: 'wrong' }, 'Invalid code verifier'],
    [{ code_verifier: '' }, 'Missing code verifier'],
    [{ client_id: 'other' }, 'Invalid client'],
  ])('%p: %s', async (changes, text) => {
    const { status, body } = await exchange(changes);
    expect([status, body.error_description]).toEqual([400, text]);
  });

  test('a code the second time, and its tokens with it', async () => {
    const code = (await signIn()).searchParams.get('code') ?? '';
    const { access_token: access } = (await exchange({}, code)).body;
    expect((await exchange({}, code)).body.error).toBe('invalid_grant');
    expect(await patients(access)).toBe(401);
  });

  test.each([
    [{ client_id: 'unknown' }, 400],
    [{ redirect_uri: 'http://evil.example/' }, 400],
    [{ redirect_uri: `${redirect}/more` }, 400],
  ])('an authorization request with %p stays here', async (changes, status) => {
    const response = await authorize(changes);
    expect([response.status, response.headers.get('location')]).toEqual([status, null]);
  });

  test.each([
    [{ email: 'nobody@example.org' }, 'User not found'],
    [{ password: 'other-password' }, 'Email or password is invalid'],
    [{ password: 'short' }, 'Invalid password, must be at least 8 characters'],
    [{ email: 'x' }, 'Valid email address is required'],
  ])('a login with %p: %s', async (changes, text) => {
    const { status, body } = await client().send('POST', 'auth/login', { clientId: page, ...person, ...changes });
    expect([status, body.issue?.[0]?.details?.text]).toEqual([400, text]);
  });
});

test('pages of other origins may call FHIR', async () => {
  const { baseUrl } = client().sandbox;
  const preflight = await fetch(`${baseUrl}fhir/R4/Slot`, {
    method: 'OPTIONS',
    headers: {
      origin: 'http://desk.example',
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'authorization,if-match',
    },
  });
  expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
    204,
    'authorization,if-match',
  ]);
  const { headers } = await fetch(`${baseUrl}fhir/R4/Slot`, { headers: { origin: 'http://desk.example' } });
  expect(headers.get('access-control-allow-origin')).toBe('http://desk.example');
  expect(headers.get('access-control-expose-headers')).toContain('ETag');
});
