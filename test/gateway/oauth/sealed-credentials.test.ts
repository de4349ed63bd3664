import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { decodeJwt, SignJWT } from 'jose';
import type { SealingOptions } from '../../../gateway/context.ts';
import { sealSecret } from '../../../gateway/sealing/sealed-secret.ts';
import { createSealedTokens } from '../../../gateway/sealing/sealed-token.ts';
import { type FakeMedplum, gatewayTo, type Received, type Reply, startFakeMedplum } from '../fake-medplum.ts';
import { keysOf } from '../sealing/keys.ts';

const issuer = 'https://booking.example.org/';
const keys = keysOf(1);
const hour = 3_600;
const inAnHour = () => Math.floor(Date.now() / 1000) + hour;

let fake: FakeMedplum;
let gateway: FastifyInstance;

beforeEach(async () => {
  fake = await startFakeMedplum();
  gateway = start();
});
afterEach(async () => {
  await gateway.close();
  await fake.close();
});

const start = (options: Partial<SealingOptions> = {}) =>
  gatewayTo(fake, {}, { sealing: { keys, unsealed: 'refused', ...options } });

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const bodyOf = (values: Record<string, string>) => new URLSearchParams(values).toString();

const post = (path: string, payload: string, headers: Record<string, string> = {}) =>
  gateway.inject({ method: 'POST', url: path, headers: { ...form, ...headers }, payload });

const logIn = (id: string, secret: string) =>
  post('/oauth2/token', bodyOf({ grant_type: 'client_credentials', client_id: id, client_secret: secret }));

/** A token as Medplum signs it. */
const medplumToken = (client: string) =>
  new SignJWT({ client_id: client, profile: `ClientApplication/${client}`, iss: 'http://medplum:8103/' })
    .setProtectedHeader({ alg: 'HS256', kid: 'medplum' })
    .setExpirationTime(inAnHour())
    .sign(Buffer.alloc(32));

/** Medplum gives each client a token for the secret `own`, with an id token. */
async function tokenFor({ body }: Received): Promise<Reply> {
  const { client_id: id = '', client_secret: secret } = Object.fromEntries(new URLSearchParams(body));
  const token = await medplumToken(id);
  return secret === 'own'
    ? {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          token_type: 'Bearer',
          access_token: token,
          id_token: token,
          refresh_token: token,
          expires_in: hour,
          scope: 'openid',
          profile: { reference: `ClientApplication/${id}` },
          smart_style_url: 'http://medplum:8103/styles.json',
        }),
      }
    : { status: 400, body: '{"error":"invalid_request","error_description":"Invalid secret"}' };
}

/** Who is a portal, and who is staff, by the client in the token. */
const whoIs = (authorization: string): Reply => {
  const client = String(decodeJwt(authorization.replace('Bearer ', '')).client_id);
  const interaction = client.startsWith('staff') ? ['read', 'update'] : ['read'];
  return {
    body: {
      profile: { resourceType: 'ClientApplication', id: client },
      accessPolicy: { resource: [{ resourceType: 'Appointment', interaction }] },
    },
  };
};

const useMedplum = (): void => {
  fake.verify = whoIs;
  fake.answer = (received) => (received.path === '/oauth2/token' ? tokenFor(received) : undefined);
};

const readWith = (token: string) =>
  gateway.inject({ url: '/fhir/R4/Slot/s1', headers: { authorization: `Bearer ${token}` } });

describe('the token endpoint', () => {
  beforeEach(useMedplum);
  const sealed = sealSecret(keys, 'portal', 'own');

  test.each([
    ['in the form', () => logIn('portal', sealed)],
    [
      'in the header',
      () =>
        post('/oauth2/token', 'grant_type=client_credentials', {
          authorization: `Basic ${Buffer.from(`portal:${sealed}`).toString('base64')}`,
        }),
    ],
  ])('opens a sealed secret %s and gives a token of its own', async (_, ask) => {
    const answer = await ask();
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    const body = answer.json();
    expect(Object.keys(body).sort()).toEqual([
      'access_token',
      'expires_in',
      'id_token',
      'profile',
      'scope',
      'token_type',
    ]);
    expect(decodeJwt(body.access_token)).toMatchObject({ iss: issuer, client_id: 'portal' });
    expect(Math.abs((decodeJwt(body.access_token).exp ?? 0) - inAnHour())).toBeLessThan(5);
    expect(decodeJwt(body.id_token)).toMatchObject({ iss: issuer, aud: 'portal' });
    expect([fake.received[0]?.body, fake.received[0]?.headers.authorization]).toEqual([
      'grant_type=client_credentials&client_id=portal&client_secret=own',
      undefined,
    ]);
    expect(fake.verified).toEqual([]);
  });

  test.each([
    ['of another client', sealSecret(keys, 'other', 'own')],
    ['of a key that is given up', sealSecret(keysOf(2), 'portal', 'own')],
    ['that was changed', `${sealed.slice(0, -3)}AAA`],
  ])('refuses a sealed secret %s without asking Medplum', async (_, secret) => {
    const answer = await logIn('portal', secret);
    expect([answer.statusCode, answer.json().error]).toEqual([401, 'invalid_client']);
    expect(answer.json().error_description).toContain('Ask the clinic for a new one');
    expect(fake.received).toEqual([]);
  });

  test("refuses Medplum's own secret of a portal, and says what to do", async () => {
    const answer = await logIn('portal', 'own');
    expect([answer.statusCode, answer.json()]).toEqual([
      401,
      { error: 'invalid_client', error_description: expect.stringContaining('rotate') },
    ]);
  });

  test('takes it while portals change over, and seals the token all the same', async () => {
    await gateway.close();
    gateway = start({ unsealed: 'accepted' });
    const answer = await logIn('portal', 'own');
    expect(decodeJwt(answer.json().access_token)).toMatchObject({ iss: issuer });
  });

  test("takes Medplum's own secret of a client that is staff", async () => {
    const answer = await logIn('staff', 'own');
    expect(decodeJwt(answer.json().access_token)).toMatchObject({ iss: issuer, client_id: 'staff' });
  });

  test('passes the refusals of Medplum on', async () => {
    const answer = await logIn('portal', sealSecret(keys, 'portal', 'wrong'));
    expect([answer.statusCode, answer.json().error_description]).toEqual([400, 'Invalid secret']);
  });

  test.each([
    ['', 'invalid_request', 'Missing grant_type'],
    ['grant_type=refresh_token&refresh_token=a', 'unsupported_grant_type', 'client_credentials'],
    ['grant_type=authorization_code&code=a', 'unsupported_grant_type', 'client_credentials'],
    ['grant_type=client_credentials&scope=a&scope=b', 'invalid_request', 'once'],
  ])('refuses the form %s', async (payload, error, description) => {
    const answer = await post('/oauth2/token', payload);
    expect([answer.statusCode, answer.json()]).toEqual([
      400,
      { error, error_description: expect.stringContaining(description) },
    ]);
    expect(fake.received).toEqual([]);
  });

  test.each(['Bearer x', 'Basic !', 'Basic', `Basic ${Buffer.from('no-colon').toString('base64')}`])(
    'refuses the header %s',
    async (authorization) => {
      const answer = await post('/oauth2/token', 'grant_type=client_credentials', { authorization });
      expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_request']);
    },
  );

  test('an answer of Medplum without a token is one of a broken server', async () => {
    fake.answer = () => ({ body: '{"token":"none"}' });
    expect((await logIn('portal', sealed)).statusCode).toBe(502);
  });
});

describe('an access token', () => {
  const tokens = createSealedTokens(keys, issuer, Date.now);
  const sealedFor = async (client: string, expires = inAnHour(), { seal } = tokens) =>
    seal({ token: await medplumToken(client), expires, client, profile: '', scope: '' });
  beforeEach(useMedplum);

  test('reaches Medplum opened, everywhere', async () => {
    const sealed = await sealedFor('portal');
    await readWith(sealed);
    await gateway.inject({
      method: 'POST',
      url: '/fhir/R4/Appointment/$book',
      headers: { authorization: `Bearer ${sealed}`, 'content-type': 'application/fhir+json' },
      payload: '{"resourceType":"Appointment"}',
    });
    const seen = [...fake.verified, ...fake.received.map(({ headers }) => headers.authorization)];
    expect(fake.received.map(({ path }) => path)).toEqual(['/fhir/R4/Slot/s1', '/fhir/R4/Bot/$execute']);
    expect(new Set(seen.map((authorization) => decodeJwt(String(authorization).slice(7)).iss))).toEqual(
      new Set(['http://medplum:8103/']),
    );
    expect(fake.verified).toHaveLength(1);
  });

  test('belongs to its client whatever token it has: limits count them together', async () => {
    await gateway.close();
    gateway = gatewayTo(fake, { requestsPerMinute: 2 }, { sealing: { keys, unsealed: 'refused' } });
    const statuses = [];
    for (let count = 0; count < 3; count++) {
      statuses.push((await readWith(await sealedFor('portal'))).statusCode);
    }
    expect(statuses).toEqual([404, 404, 429]);
  });

  test('of Medplum itself is refused to portals, with what to do, and allowed to staff', async () => {
    const refused = await readWith(await medplumToken('portal'));
    expect([refused.statusCode, refused.headers['www-authenticate']]).toEqual([401, 'Bearer error="invalid_token"']);
    expect(refused.json().issue[0].diagnostics).toContain(`${issuer}oauth2/token`);
    expect(refused.json().issue[0].diagnostics).toContain('sealed secret');
    expect((await readWith(await medplumToken('staff'))).statusCode).toBe(404);
    expect(fake.received.map(({ path }) => path)).toEqual(['/fhir/R4/Slot/s1']);
  });

  test('of Medplum itself is allowed to portals while they change over', async () => {
    await gateway.close();
    gateway = start({ unsealed: 'accepted' });
    expect((await readWith(await medplumToken('portal'))).statusCode).toBe(404);
  });

  test.each<[string, () => Promise<string>]>([
    ['that has expired', () => sealedFor('portal', inAnHour() - 2 * hour)],
    [
      'of a key that is given up',
      () => sealedFor('portal', inAnHour(), createSealedTokens(keysOf(2), issuer, Date.now)),
    ],
    [
      'of another installation',
      () => sealedFor('portal', inAnHour(), createSealedTokens(keys, 'https://other.example.org/', Date.now)),
    ],
    ['that was changed', async () => `${(await sealedFor('portal')).slice(0, -6)}AAAAAA`],
    ['that is too long', async () => 'a'.repeat(9_000)],
  ])('%s is refused without asking Medplum', async (_, token) => {
    const answer = await readWith(await token());
    expect([answer.statusCode, answer.json().resourceType]).toEqual([401, 'OperationOutcome']);
    expect(fake.verified).toEqual([]);
  });

  test('that was opened before is refused when it has ended', async () => {
    let now = Date.now();
    await gateway.close();
    gateway = gatewayTo(fake, {}, { sealing: { keys, unsealed: 'refused' }, now: () => now });
    const sealed = await sealedFor('portal', Math.floor(now / 1000) + 100);
    expect((await readWith(sealed)).statusCode).toBe(404);
    now += 101_000;
    expect((await readWith(sealed)).statusCode).toBe(401);
  });

  test('strangers who try many are limited by their address', async () => {
    await gateway.close();
    gateway = gatewayTo(fake, { attemptsPerMinuteAndAddress: 3 }, { sealing: { keys, unsealed: 'refused' } });
    const broken = `${(await sealedFor('portal')).slice(0, -6)}AAAAAA`;
    const statuses = [];
    for (let count = 0; count < 5; count++) {
      statuses.push((await readWith(broken)).statusCode);
    }
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
  });

  test('is examined by introspection, with the issuer of the service', async () => {
    const told = { active: true, iss: 'http://medplum:8103/', client_id: 'portal' };
    fake.answer = () => ({ headers: { 'content-type': 'application/json' }, body: JSON.stringify(told) });
    const answer = await post('/oauth2/introspect', bodyOf({ token: await sealedFor('portal') }));
    expect(answer.json()).toEqual({ ...told, iss: issuer });
    const asked = new URLSearchParams(fake.received[0]?.body).get('token') ?? '';
    expect(decodeJwt(asked).iss).toBe('http://medplum:8103/');
  });

  test('that is not good here is not active, also if Medplum takes it', async () => {
    const expired = await sealedFor('portal', inAnHour() - 2 * hour);
    for (const token of [expired, await medplumToken('portal'), 'a b']) {
      expect((await post('/oauth2/introspect', bodyOf({ token }))).json()).toEqual({ active: false });
    }
    expect(fake.received).toEqual([]);
  });
});

test('discovery names the keys, and what there is of OAuth', async () => {
  const { keys: published } = (await gateway.inject('/.well-known/jwks.json')).json();
  expect(published).toEqual([expect.objectContaining({ kty: 'EC', alg: 'ES256', kid: `booking-${keys[0].id}` })]);
  expect((await gateway.inject('/.well-known/openid-configuration')).json()).toMatchObject({
    issuer,
    grant_types_supported: ['client_credentials'],
    id_token_signing_alg_values_supported: ['ES256'],
  });
  expect((await gateway.inject('/.well-known/smart-configuration')).json()).toMatchObject({
    grant_types_supported: ['client_credentials'],
  });
});

test('readiness tells the doctor which credentials portals use', async () => {
  fake.answer = () => ({ body: { ok: true } });
  expect((await gateway.inject('/readyz')).json()).toMatchObject({ credentials: 'sealed' });
});
