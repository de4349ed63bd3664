/** What every route holds a request to before any work, as `gateway/admission/route-rules.ts` says it, beside the FHIR interface. */
import { describe, expect, test } from '@jest/globals';
import type { FastifyPluginAsync } from 'fastify';
import { frontDesk } from '../../apps/front-desk/server.ts';
import { clinicPage } from '../../apps/portal/preview.ts';
import { portal } from '../../apps/portal/server.ts';
import { aClinic, builtFiles, settings } from '../../apps/portal/test/installed.ts';
import { createRateLimit } from '../../gateway/admission/rate-limit.ts';
import { furtherRoutes } from '../../gateway/admission/route-rules.ts';
import type { GatewayLimits } from '../../gateway/limits.ts';
import { extensionUrls } from '../../packages/web/refusal.ts';
import { web } from '../../scripts/gateway/web.ts';
import { atEnd } from '../lib/at-end.ts';
import { bearer, config, gatewayTo, startFakeMedplum } from './fake-medplum.ts';

const fake = await startFakeMedplum();
const clinic = aClinic();
const baseUrl = `${await clinic.listen({ port: 0, host: '127.0.0.1' })}/fhir/R4`;
const { assets, remove } = builtFiles();
atEnd(async () => {
  await clinic.close();
  remove();
});
fake.verify = (authorization) => {
  const resourceType = authorization.includes('staff') ? 'Practitioner' : 'ClientApplication';
  const interaction = resourceType === 'Practitioner' ? ['read', 'search', 'create', 'update'] : ['read', 'search'];
  return {
    body: {
      profile: { resourceType, id: authorization.replace(/\W/g, '') },
      accessPolicy: { resource: [{ resourceType: 'Appointment', interaction }] },
    },
  };
};

const extensions = extensionUrls(config);
const options = { ...settings, extensions, assets, baseUrl, path: '/portal', isPublished: true };
const desk = { config, medplumUrl: 'https://medplum.example/', clientId: 'c', assets, clinicPage: clinicPage(options) };
const words = { title: { en: 'T', de: 'T' }, description: { en: 'D', de: 'D' } };
const pages = web({
  applications: [
    { path: '/portal/', plugin: portal(options), ...words },
    { path: '/front-desk/', plugin: frontDesk(desk), ...words },
  ],
  baseUrl: config.baseUrl,
});
const start = (limits: Partial<GatewayLimits> = {}, plugin: FastifyPluginAsync = pages) =>
  gatewayTo(fake, limits, { web: plugin });

/** Each line as a request, but for those that are there only with sealed credentials, with CORS, or at the demonstration. */
const lines = Object.entries(furtherRoutes)
  .filter(([line]) => !/mcp|developers|OPTIONS/.test(line))
  .map(([line, rule]) => {
    const [method = '', path = ''] = line.split(' ');
    const url = path
      .replace(':region', 'DE')
      .replace(':year', '2027')
      .replace('*', method === 'POST' ? 'hold' : '');
    return { line, ...rule, method: method as 'GET', url };
  });

test('a route without a line is not served', async () => {
  const gateway = start({}, async (scope) => void scope.get('/elsewhere', async () => 'x'));
  await expect(gateway.ready()).rejects.toThrow('GET /elsewhere has no line');
});

test.each(lines)('$line counts requests by their address', async ({ limit, method, url }) => {
  const gateway = start(limit === 'few' ? { attemptsPerMinuteAndAddress: 2 } : { requestsPerMinuteAndAddress: 2 });
  const headers = { ...bearer, 'sec-fetch-site': 'same-origin' };
  const ask = async () => (await gateway.inject({ method, url, headers })).statusCode;
  const statuses = [await ask(), await ask(), await ask()];
  expect(statuses.map((status) => status === 429)).toEqual([false, false, limit !== 'none']);
});

test.each(lines)('$line is for whom it says', async ({ who, method, url }) => {
  const gateway = start();
  const ask = async (token: string) => {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
    return (await gateway.inject({ method, url, headers, payload: method === 'GET' ? undefined : {} })).statusCode;
  };
  expect(await ask('')).toEqual(who === 'anyone' ? expect.any(Number) : 401);
  expect(await ask('portal-a')).toEqual(who === 'staff' ? 403 : expect.any(Number));
  expect(await ask('staff')).toEqual(who === 'staff' ? 200 : expect.any(Number));
});

test.each(lines.filter(({ bytes }) => bytes > 0))('$line takes no larger body', async ({ method, url, bytes }) => {
  const gateway = start();
  const type = url.includes('front-desk') ? 'application/json' : 'application/x-www-form-urlencoded';
  const headers = { authorization: 'Bearer staff', 'content-type': type, 'sec-fetch-site': 'same-origin' };
  const ask = async (size: number) => {
    const payload = JSON.stringify({ name: 'x'.repeat(size - '{"name":""}'.length) });
    return (await gateway.inject({ method, url, headers, payload })).statusCode;
  };
  expect(await ask(bytes + 1)).toBe(413);
  expect(await ask(bytes)).not.toBe(413);
});

describe('POST /front-desk/clinic-preview', () => {
  const picture =
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

  test('shows what was sent once, and takes no more text than a clinic has', async () => {
    const gateway = start();
    const post = (payload: object) =>
      gateway.inject({
        method: 'POST',
        url: '/front-desk/clinic-preview',
        headers: { authorization: 'Bearer staff' },
        payload,
      });
    const first = (await post({ logo: picture })).json();
    const [, version = ''] = /v=(\w+)/.exec(first.page) ?? [];
    const address = `/portal/pictures/Organization/preview?v=${version}`;
    const sent = { logo: picture, consent: address.repeat(30), bring: address.repeat(30) };
    const { page } = (await post(sent)).json();
    expect(page.split(picture)).toHaveLength(2);
    expect(page.length).toBeLessThan(20_000);
    expect((await post({ consent: 'x'.repeat(2_001) })).statusCode).toBe(400);
    expect((await post({ more: 'x' })).statusCode).toBe(400);
  });
});

test('the limits remember a bounded number of names: who came least recently is forgotten', () => {
  const limit = createRateLimit(1, () => 0);
  limit.take('first');
  expect(limit.take('first')).toBe(60);
  for (let name = 0; name < 20_000; name++) {
    limit.take(`192.0.2.${name}`);
  }
  expect([typeof limit.take('first'), limit.take('192.0.2.19999')]).toEqual(['function', 60]);
});
