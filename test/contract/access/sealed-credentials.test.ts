/** What a portal is handed out is good at the service, and worth nothing at the Medplum server behind it. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { sealSecret } from '../../../gateway/sealing/sealed-secret.ts';
import { aClient, type Client, removeClient } from '../clients.ts';
import { aClinic, aPatient, book, proposed } from '../fixtures.ts';
import { medplum, request, resourceIn } from '../http.ts';
import { base, keys, medplumBase, tokenEndpoints } from '../installation.ts';

const { origin } = new URL(base);
const server = medplumBase.replace(/fhir\/R4$/, '');
const policy = 'Appointment booking: requestor';

let portal: Client;
beforeAll(async () => {
  portal = await aClient(policy);
});
afterAll(() => removeClient(portal));

async function logInAt(url: string, secret: string, id = portal.id) {
  const form = { grant_type: 'client_credentials', client_id: id, client_secret: secret };
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(form) });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Installations whose portals have the credentials of Medplum promise nothing of this. */
(keys ? describe : describe.skip)('sealed credentials', () => {
  it('a secret is no secret for Medplum, in a form or by HTTP Basic', async () => {
    expect((await logInAt(tokenEndpoints.medplum, portal.inMedplum.secret)).status).toBe(200);
    const refused = await logInAt(tokenEndpoints.medplum, portal.secret);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.body.access_token).toBeUndefined();
    const basic = (secret: string) => `Basic ${Buffer.from(`${portal.id}:${secret}`).toString('base64')}`;
    const statuses = [portal.inMedplum.secret, portal.secret].map(
      async (secret) =>
        (await fetch(`${medplumBase}/Slot?_count=1`, { headers: { authorization: basic(secret) } })).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 401]);
  });

  it('neither its access token nor its id token opens a door of Medplum', async () => {
    const { body } = await logInAt(tokenEndpoints.service, portal.secret);
    const tokens = [body.access_token, body.id_token].filter((token) => token !== undefined).map(String);
    expect(tokens[0]).toEqual(expect.any(String));
    const asked = [
      ['GET', 'fhir/R4/Slot'],
      ['GET', `fhir/R4/ClientApplication/${portal.id}`],
      ['POST', 'fhir/R4/$graphql'],
      ['POST', 'fhir/R4'],
      ['GET', 'auth/me'],
    ] as const;
    for (const token of tokens) {
      for (const [method, path] of asked) {
        const response = await fetch(`${server}${path}`, {
          method,
          headers: { ...bearer(token), 'content-type': 'application/fhir+json' },
          ...(method === 'POST' && { body: '{}' }),
        });
        expect([path, response.status]).toEqual([path, 401]);
      }
    }
    expect((await fetch(`${medplumBase}/Slot?_count=1`, { headers: bearer(portal.inMedplum.token) })).status).toBe(200);
  });

  it("a chained search tells nothing of another's patient, at any door that a portal has", async () => {
    const family = `Verborgen${Date.now()}`;
    const [clinic, patient] = [await aClinic(), await aPatient('portal-a', { name: [{ family }] })];
    expect((await book(proposed(patient, [clinic.slot]))).status).toBe(201);
    const oracle = `Slot?_id=${clinic.slot.id}&_has:Appointment:slot:patient.family=`;
    const guess = async (url: string, token: string, name: string) => {
      const response = await fetch(`${url}/${oracle}${name}`, { headers: bearer(token) });
      const { entry = [] } = (await response.json()) as { entry?: unknown[] };
      return { status: response.status, found: entry.length };
    };
    expect([
      await guess(medplumBase, portal.inMedplum.token, family),
      await guess(medplumBase, portal.inMedplum.token, 'Anders'),
    ]).toEqual([
      { status: 200, found: 1 },
      { status: 200, found: 0 },
    ]);
    expect(await guess(medplumBase, portal.token, family)).toEqual({ status: 401, found: 0 });
    expect(await guess(base, portal.inMedplum.token, family)).toEqual({ status: 401, found: 0 });
    expect(await guess(base, portal.token, family)).toEqual(await guess(base, portal.token, 'Anders'));
  });

  it("Medplum's own secret and token of a portal are refused, and the answers say what to do", async () => {
    const login = await logInAt(tokenEndpoints.service, portal.inMedplum.secret);
    expect([login.status, login.body]).toEqual([
      401,
      { error: 'invalid_client', error_description: expect.stringContaining('requestor -- rotate') },
    ]);
    const response = await request('nobody', 'GET', '/Slot', { headers: bearer(portal.inMedplum.token) });
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer error="invalid_token"']);
    const [issue] = resourceIn('OperationOutcome', response).issue;
    expect(issue?.diagnostics).toContain(tokenEndpoints.service);
  });

  it('staff use the tokens that Medplum gives them', async () => {
    expect((await request('front-desk', 'GET', '/Slot?_count=1')).status).toBe(200);
    expect((await medplum('front-desk', 'GET', '/Slot?_count=1')).status).toBe(200);
  });

  it('a token names the service as its issuer and is verified by its keys', async () => {
    const keySet = createRemoteJWKSet(new URL(`${origin}/.well-known/jwks.json`));
    const { issuer } = (await (await fetch(`${origin}/.well-known/openid-configuration`)).json()) as { issuer: string };
    const { payload } = await jwtVerify(portal.token, keySet, { issuer });
    expect(payload).toMatchObject({ iss: `${origin}/`, client_id: portal.id });
    const host = new URL(medplumBase).host;
    expect(Buffer.from(portal.token.split('.')[1] ?? '', 'base64url').toString()).not.toContain(host);
    expect(portal.token).not.toContain(portal.inMedplum.token);
  });

  it('a token ends when that of Medplum would', async () => {
    const [ours, theirs] = [decodeJwt(portal.token), decodeJwt(portal.inMedplum.token)];
    expect(Math.abs((ours.exp ?? 0) - (theirs.exp ?? 0))).toBeLessThan(60);
  });

  it('a secret belongs to its client', async () => {
    const client = await aClient(policy);
    const answer = await logInAt(tokenEndpoints.service, portal.secret, client.id);
    expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client']);
    const wrong = keys ? sealSecret(keys, portal.id, client.inMedplum.secret) : '';
    expect((await logInAt(tokenEndpoints.service, wrong)).status).toBe(400);
    await removeClient(client);
  });

  it('a token whose client is gone is refused', async () => {
    const leaving = await aClient(policy);
    await removeClient(leaving);
    const response = await request('nobody', 'GET', '/Slot', { headers: bearer(leaving.token) });
    expect(response.status).toBe(401);
  });
});
