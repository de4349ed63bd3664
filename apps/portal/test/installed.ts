/** What a portal needs around it in tests: a clinic that answers it, and its built files. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bundle } from '@medplum/fhirtypes';
import fastify, { type FastifyInstance } from 'fastify';
import { assetsOf } from '../../../packages/web/assets.ts';
import { atEnd } from '../../../test/lib/at-end.ts';
import type { PortalOptions } from '../portal.ts';
import { portal } from '../server.ts';

/** A Bundle of these resources, complete or not. */
export const bundle = (...resources: readonly object[]) => ({
  resourceType: 'Bundle' as const,
  entry: resources.map((resource) => ({ resource })) as NonNullable<Bundle['entry']>,
});

/** A server to which routes are added; it takes every body as text, gives tokens, and finds nothing of a type without a route. */
export function aClinic(): FastifyInstance {
  const clinic = fastify({ forceCloseConnections: true });
  clinic.removeAllContentTypeParsers();
  clinic.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  clinic.post('/oauth2/token', async () => ({ access_token: 'secret', expires_in: 3600 }));
  clinic.get('/fhir/R4/:type', async () => bundle());
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
    position: 'urn:place',
  },
  topic: 'urn:topic',
  origin: 'https://portal.example',
};

/**
 * Starts portals of a clinic, which end with the tests of the file.
 *
 * @param own - the settings of a portal, or of several, besides the usual ones; by default it is at `/portal`
 * @param response - gives the clinic its routes
 */
export async function withPortal(
  own: Partial<PortalOptions> | readonly Partial<PortalOptions>[],
  response: (clinic: FastifyInstance) => void,
): Promise<{ readonly app: FastifyInstance; readonly baseUrl: string }> {
  const clinic = aClinic();
  response(clinic);
  const baseUrl = `${await clinic.listen({ port: 0, host: '127.0.0.1' })}/fhir/R4`;
  const { assets, remove } = builtFiles();
  const app = fastify({ trustProxy: true, routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384 } });
  for (const { path = '/portal', ...more } of [own].flat()) {
    void app.register(portal({ ...settings, assets, baseUrl, path, ...more }), { prefix: path });
  }
  atEnd(async () => {
    await app.close();
    await clinic.close();
    remove();
  });
  return { app, baseUrl };
}

/** A browser that keeps cookies, at an address of its own; a form is sent as from a page of the portal. */
export function aBrowser(app: FastifyInstance, remoteAddress: string) {
  const cookies = new Map<string, string>();
  const send = async (url: string, form?: Readonly<Record<string, string>> | string, headers: object = {}) => {
    const response = await app.inject({
      method: form === undefined ? 'GET' : 'POST',
      url,
      remoteAddress,
      cookies: Object.fromEntries(cookies),
      headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded', ...headers },
      ...(form !== undefined && { payload: typeof form === 'string' ? form : new URLSearchParams(form).toString() }),
    });
    for (const { name, value } of response.cookies) {
      if (value === '') {
        cookies.delete(name);
      } else {
        cookies.set(name, value);
      }
    }
    return response;
  };
  return { send, cookies };
}
