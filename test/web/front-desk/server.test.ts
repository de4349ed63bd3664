import { afterAll, expect, test } from '@jest/globals';
import fastify from 'fastify';
import { loadConfig } from '../../../scripts/cli/load-config.ts';
import { frontDesk } from '../../../web/front-desk/server.ts';

const app = fastify();
void app.register(
  frontDesk({
    config: loadConfig(),
    medplumUrl: 'https://medplum.example/',
    clientId: 'the-client',
    assets: { folder: process.cwd(), page: () => ({ script: 'main.js', style: 'main.css' }) },
  }),
  { prefix: '/front-desk' },
);
afterAll(() => app.close());

test.each(['/front-desk/', '/front-desk/calendar?date=2027-01-11', '/front-desk/signed-in?code=x'])(
  '%s is the page, which may call Medplum and run no script of others',
  async (url) => {
    const { statusCode, headers, body } = await app.inject(url);
    expect([statusCode, headers['cache-control']]).toEqual([200, 'no-cache']);
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("connect-src 'self' https://medplum.example;");
    expect(body).toContain('src="/front-desk/assets/main.js"');
  },
);

test('the page is told nothing of networks and limits', async () => {
  const { body } = await app.inject('/front-desk/');
  const [, settings = ''] = body.match(/data-settings="([^"]*)"/) ?? [];
  const told = JSON.parse(settings.replaceAll('&quot;', '"'));
  expect(Object.keys(told)).toEqual(['medplumUrl', 'clientId', 'config']);
  expect(Object.keys(told.config).toSorted()).toEqual([
    'baseUrl',
    'calendar',
    'confirmation',
    'metaTagSystem',
    'smallestBooking',
    'timeZone',
    'uris',
  ]);
});
