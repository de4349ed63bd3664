/** What a portal needs around it in tests: a clinic that answers it, and its built files. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bundle } from '@medplum/fhirtypes';
import fastify, { type FastifyInstance } from 'fastify';
import { assetsOf } from '../../../web/server/assets.ts';

/** A Bundle of these resources, complete or not. */
export const bundle = (...resources: readonly object[]) => ({
  resourceType: 'Bundle' as const,
  entry: resources.map((resource) => ({ resource })) as NonNullable<Bundle['entry']>,
});

/** A server to which routes are added; it takes every body as text, and gives tokens. */
export function aClinic(): FastifyInstance {
  const clinic = fastify({ forceCloseConnections: true });
  clinic.removeAllContentTypeParsers();
  clinic.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  clinic.post('/oauth2/token', async () => ({ access_token: 'secret', expires_in: 3600 }));
  return clinic;
}

/** The built files of a portal: a script, which is empty. */
export function builtFiles() {
  const folder = mkdtempSync(join(tmpdir(), 'portal-'));
  mkdirSync(join(folder, 'portal'));
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ pages: { portal: { script: 'main.js' } } }));
  return { assets: assetsOf(folder, 'portal'), remove: () => rmSync(folder, { recursive: true }) };
}

/** The settings of a portal that are the same in all tests. */
export const settings = {
  clientId: 'id',
  clientSecret: 'secret',
  clinic: 'C',
  timeZone: 'Europe/Berlin',
  extensions: {
    heldUntil: 'urn:held',
    alternative: 'urn:alternative',
    confirmation: 'urn:confirmation',
    deadline: 'urn:deadline',
    policy: 'urn:policy',
    payerKind: 'urn:payer',
    offer: 'urn:offer',
    place: 'urn:place',
  },
  topic: 'urn:topic',
  origin: 'https://portal.example',
};

/** A browser that keeps cookies, at an address of its own; a form is sent as from a page of the portal. */
export function aBrowser(app: FastifyInstance, remoteAddress: string) {
  const cookies = new Map<string, string>();
  const send = async (url: string, form?: Readonly<Record<string, string>> | string, headers: object = {}) => {
    const answer = await app.inject({
      method: form === undefined ? 'GET' : 'POST',
      url,
      remoteAddress,
      cookies: Object.fromEntries(cookies),
      headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded', ...headers },
      ...(form !== undefined && { payload: typeof form === 'string' ? form : new URLSearchParams(form).toString() }),
    });
    for (const { name, value } of answer.cookies) {
      if (value === '') {
        cookies.delete(name);
      } else {
        cookies.set(name, value);
      }
    }
    return answer;
  };
  return { send, cookies };
}
