import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fastify, { type FastifyInstance } from 'fastify';
import { web } from '../../../scripts/gateway/web.ts';
import { assetsOf } from '../assets.ts';
import { singlePage } from '../single-page.ts';

const baseUrl = 'https://booking.clinic.example/fhir/R4';
const output = mkdtempSync(join(tmpdir(), 'web-'));
let app: FastifyInstance;

beforeAll(() => {
  mkdirSync(join(output, 'desk'));
  writeFileSync(join(output, 'desk', 'main-A1.js'), 'run()');
  writeFileSync(join(output, 'desk', 'main-A1.js.br'), 'compressed');
  writeFileSync(join(output, 'manifest.json'), JSON.stringify({ pages: { desk: { script: 'main-A1.js' } } }));
  app = fastify({ routerOptions: { ignoreTrailingSlash: true } });
  const rights = { isSecure: true, connect: ['https://medplum.example'], styles: 'inline too' } as const;
  const plugin = singlePage({
    title: 'Desk <1>',
    assets: assetsOf(output, 'desk'),
    path: '/desk',
    settings: { medplum: 'https://medplum.example/?a="b"' },
    rights,
  });
  const title = { en: 'Front desk', de: 'Anmeldung' };
  void app.register(
    web({ baseUrl, applications: [{ path: '/desk/', title, description: { en: 'for staff', de: '' }, plugin }] }),
  );
});
afterAll(async () => {
  await app.close();
  rmSync(output, { recursive: true });
});

test('the start page leads to each application', async () => {
  const { statusCode, body, headers } = await app.inject({ url: '/', headers: { 'accept-language': 'de' } });
  expect(statusCode).toBe(200);
  expect(body).toContain('<a href="/desk/">Anmeldung</a>');
  expect(headers).toMatchObject({ 'cache-control': 'no-cache', vary: 'accept-language' });
});

test('an application of one script has one page at all its addresses, with its settings', async () => {
  for (const url of ['/desk', '/desk/', '/desk/week/2027-01-04']) {
    const { statusCode, body } = await app.inject(url);
    expect(statusCode).toBe(200);
    expect(body).toContain('<script type="module" src="/desk/assets/main-A1.js"></script>');
    expect(body).toContain('data-medplum="https://medplum.example/?a=&quot;b&quot;"');
    expect(body).toContain('<title>Desk &lt;1&gt;</title>');
  }
});

test('no page runs what stands in its markup, and each calls only what it may', async () => {
  const policies = [];
  for (const url of ['/', '/desk']) {
    const { headers } = await app.inject(url);
    expect(headers['strict-transport-security']).toBeDefined();
    expect(headers['referrer-policy']).toBe('same-origin');
    policies.push(String(headers['content-security-policy']));
  }
  const [start, desk] = policies;
  expect(start).not.toContain('unsafe');
  expect(start).toContain("connect-src 'self';");
  expect(desk).toContain("script-src 'self';");
  expect(desk).toContain("connect-src 'self' https://medplum.example;");
});

test('built files are kept for ever by the browser, and sent compressed', async () => {
  const { statusCode, headers, body } = await app.inject({
    url: '/desk/assets/main-A1.js',
    headers: { 'accept-encoding': 'br' },
  });
  expect([statusCode, body, headers['content-encoding']]).toEqual([200, 'compressed', 'br']);
  expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
  expect((await app.inject('/desk/assets/main-B2.js')).statusCode).toBe(404);
  expect((await app.inject('/desk/assets/..%2fmanifest.json')).statusCode).not.toBe(200);
});

test('what was not built is named, with the command that builds it', () => {
  expect(() => assetsOf(output, 'portal')).toThrow(/has no portal. Run npm run build:web/);
  expect(() => assetsOf(join(output, 'none'), 'desk')).toThrow(/There is no .*manifest.json. Run npm run build:web/);
});
