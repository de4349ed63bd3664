import { describe, expect, test } from '@jest/globals';
import { MedplumClient } from '@medplum/core';
import { createTokens } from '../../packages/sandbox/auth/tokens.ts';
import { withSandbox } from './start.ts';

const client = withSandbox();
const form = { 'content-type': 'application/x-www-form-urlencoded', authorization: '' };

interface TokenAnswer {
  readonly access_token?: string;
  readonly expires_in?: number;
  readonly error?: string;
  readonly error_description?: string;
}

function token(body: string, headers: Record<string, string> = form) {
  return client().send<TokenAnswer>('POST', 'oauth2/token', body, headers);
}

describe('client credentials', () => {
  test('give a token for an hour, from the body and from the header', async () => {
    const { clientId, clientSecret } = client().sandbox;
    const fromBody = await token(`grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}`);
    expect([fromBody.status, fromBody.body.expires_in]).toEqual([200, 3600]);
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
    const fromHeader = await token('grant_type=client_credentials', { ...form, authorization: `Basic ${basic}` });
    expect(fromHeader.status).toBe(200);
    const headers = { authorization: `Bearer ${fromHeader.body.access_token}` };
    expect((await client().fhir('GET', 'Patient', undefined, headers)).status).toBe(200);
  });

  test.each([
    ['', 'Missing grant_type'],
    ['grant_type=password', 'Unsupported grant_type'],
    ['grant_type=client_credentials', 'Missing client_id'],
    ['grant_type=client_credentials&client_id=x', 'Missing client_secret'],
    ['grant_type=client_credentials&client_id=x&client_secret=y', 'Invalid client'],
  ])('%p is refused: %s', async (body, text) => {
    const answer = await token(body);
    expect([answer.status, answer.body]).toEqual([400, { error: 'invalid_request', error_description: text }]);
  });

  test('a wrong secret is refused', async () => {
    const { clientId } = client().sandbox;
    const answer = await token(`grant_type=client_credentials&client_id=${clientId}&client_secret=wrong`);
    expect([answer.status, answer.body.error_description]).toEqual([400, 'Invalid secret']);
  });

  test('the client of @medplum/core logs in with them', async () => {
    const { baseUrl, clientId, clientSecret, projectId } = client().sandbox;
    const medplum = new MedplumClient({ baseUrl });
    await medplum.startClientLogin(clientId, clientSecret);
    expect((await medplum.getProfileAsync())?.id).toBe(clientId);
    expect(medplum.getProject()?.id).toBe(projectId);
  });
});

describe('without a token that is good', () => {
  test.each([[''], ['Bearer nonsense'], ['Bearer a.b.c'], ['Basic bm9ib2R5OnNlY3JldA=='], ['Bearer portal-a']])(
    'authorization %p is 401',
    async (authorization) => {
      const { status, body, headers } = await client().fhir('GET', 'Patient', undefined, { authorization });
      expect([status, body.id]).toEqual([401, 'unauthorized']);
      expect(headers.get('www-authenticate')).toContain(`realm="${client().sandbox.baseUrl}"`);
    },
  );

  test('healthcheck answers', async () => {
    expect((await client().send('GET', 'healthcheck', undefined, { authorization: '' })).status).toBe(200);
  });
});

test('a token that has expired, or was changed, is worth nothing', () => {
  let time = new Date('2027-01-01T00:00:00Z');
  const tokens = createTokens(
    'key',
    () => 'http://localhost/',
    () => time,
  );
  const issued = tokens.issue({ login_id: 'a', sub: 'b', profile: 'c/d', scope: 'openid' }, 60);
  expect(tokens.verify(issued)?.login_id).toBe('a');
  expect(tokens.verify(issued.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')))).toBeUndefined();
  time = new Date('2027-01-01T00:01:00Z');
  expect(tokens.verify(issued)).toBeUndefined();
});
