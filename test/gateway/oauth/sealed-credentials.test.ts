import { beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { decodeJwt, SignJWT } from 'jose';
import pino from 'pino';
import type { SealingOptions } from '../../../gateway/context.ts';
import { sealSecret } from '../../../gateway/sealing/sealed-secret.ts';
import { createSealedTokens } from '../../../gateway/sealing/sealed-token.ts';
import {
  type FakeMedplum,
  gatewayTo,
  type Received,
  type Reply,
  startFakeMedplum,
  withGateway,
} from '../fake-medplum.ts';
import { keysOf } from '../sealing/keys.ts';

const issuer = 'https://booking.example.org/';

const keys = keysOf(1);

describe('sealed answers', () => {
  const now = Date.parse('2030-01-01T10:00:00.900Z');
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) });

  const { fake, inject } = withGateway(
    { attemptsPerMinuteAndAddress: 1_000 },
    { sealing: { keys, unsealed: 'refused' }, now: () => now, logger },
  );

  beforeEach(() => {
    fake.verified.length = 0;
    lines.length = 0;
    fake.verify = () => ({ body: { profile: { resourceType: 'Practitioner', id: 'p1' } } });
  });

  const json = { 'content-type': 'application/json' };

  const post = (path: string, values: Record<string, string>) =>
    inject({
      method: 'POST',
      url: path,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(values).toString(),
    });

  const logIn = (values: Record<string, string> = {}) =>
    post('/oauth2/token', {
      grant_type: 'client_credentials',
      client_id: 'portal',
      client_secret: sealSecret(keys, 'portal', 'own'),
      ...values,
    });

  const answering = (body: unknown, status = 200) => {
    fake.answer = () => ({ status, headers: json, body: typeof body === 'string' ? body : JSON.stringify(body) });
  };

  /** Medplum says that a token is a portal's. */
  const portal = () => ({
    body: {
      profile: { resourceType: 'ClientApplication', id: 'portal' },
      accessPolicy: { resource: [{ resourceType: 'Appointment', interaction: ['read'] }] },
    },
  });

  describe('a token of the service', () => {
    test('comes with what belongs to it, and nothing else of the answer of Medplum', async () => {
      const more = { scope: 's', project: { reference: 'Project/1' }, profile: { reference: 'X/1' } };
      answering({ access_token: 'a', expires_in: 7, ...more, refresh_token: 'r', login: 'l' });
      expect((await logIn()).json()).toEqual({
        token_type: 'Bearer',
        access_token: expect.any(String),
        expires_in: 7,
        ...more,
      });
      answering({ access_token: 'a', expires_in: 7, id_token: 'medplum' });
      const { id_token: identity, ...others } = (await logIn()).json();
      expect(decodeJwt(identity)).toMatchObject({ iss: issuer });
      expect(Object.keys(others).sort()).toEqual(['access_token', 'expires_in', 'token_type']);
    });

    test.each<[string, unknown]>([
      ['no token', { expires_in: 7 }],
      ['a token that is no text', { access_token: 5, expires_in: 7 }],
      ['no time', { access_token: 'a' }],
      ['a time in words', { access_token: 'a', expires_in: '7' }],
      ['a list', []],
      ['no JSON', 'x'],
    ])('cannot be made of an answer with %s: 502', async (_, body) => {
      answering(body);
      const response = await logIn();
      expect([response.statusCode, response.json()]).toEqual([
        502,
        { error: 'server_error', error_description: 'The FHIR server gave an invalid response.' },
      ]);
    });
  });

  describe('a client is refused', () => {
    test("that is a portal and sends Medplum's own secret; the operator learns which", async () => {
      fake.verify = portal;
      answering({ access_token: 'a', expires_in: 7 });
      const response = await logIn({ client_secret: 'own' });
      expect([response.statusCode, response.json()]).toEqual([
        401,
        {
          error: 'invalid_client',
          error_description:
            "This is Medplum's own secret, which portals no longer use here. Ask the clinic for a sealed one (npm run requestor -- rotate).",
        },
      ]);
      expect(fake.verified).toEqual(['Bearer a']);
      expect(lines).toEqual([
        expect.objectContaining({ client: 'ClientApplication/portal', msg: "A portal sends Medplum's own secret." }),
      ]);
    });

    test('while it is not known who it is', async () => {
      fake.verify = () => ({ status: 500 });
      answering({ access_token: 'b', expires_in: 7 });
      const response = await logIn({ client_secret: 'own' });
      expect([response.statusCode, response.json().error]).toEqual([503, 'temporarily_unavailable']);
    });
  });
});

describe('sealed credentials', () => {
  const hour = 3_600;
  const inAnHour = () => Math.floor(Date.now() / 1000) + hour;
  let fake: FakeMedplum;
  let gateway: FastifyInstance;

  beforeEach(async () => {
    fake = await startFakeMedplum();
    gateway = start();
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
      const response = await ask();
      expect(response.statusCode).toBe(200);
      expect(response.headers['cache-control']).toBe('no-store');
      const body = response.json();
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
      ['', 'invalid_request', 'Missing grant_type'],
      ['grant_type=refresh_token&refresh_token=a', 'unsupported_grant_type', 'client_credentials'],
      ['grant_type=authorization_code&code=a', 'unsupported_grant_type', 'client_credentials'],
      ['grant_type=client_credentials&scope=a&scope=b', 'invalid_request', 'once'],
    ])('refuses the form %s', async (payload, error, description) => {
      const response = await post('/oauth2/token', payload);
      expect([response.statusCode, response.json()]).toEqual([
        400,
        { error, error_description: expect.stringContaining(description) },
      ]);
      expect(fake.received).toEqual([]);
    });

    test.each(['Bearer x', 'Basic !', 'Basic', `Basic ${Buffer.from('no-colon').toString('base64')}`])(
      'refuses the header %s',
      async (authorization) => {
        const response = await post('/oauth2/token', 'grant_type=client_credentials', { authorization });
        expect([response.statusCode, response.json().error]).toEqual([400, 'invalid_request']);
      },
    );
  });

  describe('an access token', () => {
    const tokens = createSealedTokens(keys, issuer, Date.now);
    const sealedFor = async (client: string, expires = inAnHour(), { seal } = tokens) =>
      seal({ token: await medplumToken(client), expires, client, profile: '', scope: '' });
    beforeEach(useMedplum);

    test('belongs to its client whatever token it has: limits count them together', async () => {
      gateway = gatewayTo(fake, { requestsPerMinute: 2 }, { sealing: { keys, unsealed: 'refused' } });
      const statuses = [];
      for (let count = 0; count < 3; count++) {
        statuses.push((await readWith(await sealedFor('portal'))).statusCode);
      }
      expect(statuses).toEqual([404, 404, 429]);
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
      const response = await readWith(await token());
      expect([response.statusCode, response.json().resourceType]).toEqual([401, 'OperationOutcome']);
      expect(fake.verified).toEqual([]);
    });
  });
});
